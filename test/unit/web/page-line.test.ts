/** What the page sends and holds back, so that the service refuses it nothing (web/src/work/). */
import { afterEach, describe, expect, it } from 'vitest';
import { gate } from '../../../web/src/work/gate.ts';
import { bounds, hasRoom, type Limits, mostFiles } from '../../../web/src/work/limits.ts';

const tier = (remaining: number) => ({ remaining, reset_seconds: 3600 });
const usual = bounds.value;
const limits = (daily: number, enabled = true, most = 20): Limits => ({
  enabled,
  banned: false,
  ban_expires_at: null,
  tiers: { daily: tier(daily), hourly: tier(1), cooldown: tier(1), ai: {} },
  files: { ...usual, max_batch_files: most },
});

describe('a batch', () => {
  it.each([
    ['the files that are left of the day', limits(3), 3],
    ['20 files at most', limits(1000), 20],
    ['20 files where there are no limits', limits(0, false), 20],
    ['as many as this service takes', limits(1000, true, 5), 5],
    ['as many as this service takes where there are no limits', limits(0, false, 5), 5],
  ])('has %s', (_, left, files) => {
    expect(mostFiles(left)).toBe(files);
  });
});

describe('a task is uploaded', () => {
  const GB = 2 ** 30;
  afterEach(() => {
    bounds.value = usual;
  });
  it.each([
    ['as one of 20 files', Array.from({ length: 19 }, () => [1]), [1], true],
    ['not as the 21st file', [Array.from({ length: 19 }, () => 1), [1]], [1], false],
    ['not beyond 2 GB with those before', [[GB], [GB]], [1], false],
    ['however large it is, where none is before it', [[], []], [3 * GB], true],
    ['without files, whatever is held', [[2 * GB]], [], true],
  ])('%s: %j', (_, held, sizes, expected) => {
    expect(hasRoom(held, sizes)).toBe(expected);
  });

  it('as this service has room', () => {
    bounds.value = { ...usual, max_uploads: 2, max_upload_bytes: 10 };
    expect([hasRoom([[1]], [1]), hasRoom([[1], [1]], [1]), hasRoom([[5]], [6])]).toEqual([true, false, false]);
    bounds.value = { ...usual, max_uploads: null, max_upload_bytes: null };
    expect(hasRoom([Array.from({ length: 500 }, () => GB)], [GB])).toBe(true);
  });
});

describe('of three that may go one at a time', () => {
  it('the second is out at once when it is cancelled, and the third follows the first', async () => {
    const through = gate(1);
    const [first, second] = [Promise.withResolvers<void>(), new AbortController()];
    const ran: string[] = [];
    const run = (name: string, cancel = new AbortController().signal, work = Promise.resolve()) =>
      through(cancel, () => {
        ran.push(name);
        return work;
      });
    const one = run('first', undefined, first.promise);
    const two = run('second', second.signal);
    const three = run('third');
    second.abort(new Error('cancelled'));
    await expect(two).rejects.toThrow('cancelled');
    expect(ran).toEqual(['first']);
    first.resolve();
    await Promise.all([one, three]);
    expect(ran).toEqual(['first', 'third']);
  });
});
