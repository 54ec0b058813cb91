import { describe, expect, it } from 'vitest';
import { KubeError } from '../../../src/kube/connection/error.ts';
import { type Clock, createWorkQueue, type WorkQueueOptions } from '../../../src/kube/work-queue.ts';

/** Time that passes when a test says so. */
function handClock(): Clock & { pass(ms: number): Promise<void> } {
  let now = 0;
  const timers = new Set<{ readonly at: number; readonly callback: () => void }>();
  return {
    now: () => now,
    after(ms, callback) {
      const timer = { at: now + ms, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async pass(ms) {
      const end = now + ms;
      for (;;) {
        await settled();
        const [next] = [...timers].filter(({ at }) => at <= end).sort((one, other) => one.at - other.at);
        if (next === undefined) break;
        now = next.at;
        timers.delete(next);
        next.callback();
      }
      now = end;
    },
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Work that ends when the test lets it. */
function handWork() {
  const begun: string[] = [];
  const running = new Map<string, { readonly end: () => void; readonly fail: (error: Error) => void }>();
  let most = 0;
  return {
    begun,
    most: () => most,
    async work(key: string) {
      begun.push(key);
      if (running.has(key)) throw new Error(`${key} is worked on twice`);
      const { promise, resolve, reject } = Promise.withResolvers<undefined>();
      running.set(key, { end: () => resolve(undefined), fail: reject });
      most = Math.max(most, running.size);
      try {
        return await promise;
      } finally {
        running.delete(key);
      }
    },
    async end(key: string, error?: Error) {
      await settled();
      const work = running.get(key);
      if (work === undefined) throw new Error(`${key} is not worked on`);
      if (error === undefined) work.end();
      else work.fail(error);
      await settled();
    },
  };
}

function queueOf(options: Partial<WorkQueueOptions> = {}) {
  const [clock, hand] = [handClock(), handWork()];
  return { ...hand, clock, queue: createWorkQueue({ work: hand.work, clock, ...options }) };
}

describe('a work queue', () => {
  it('lets a key wait once, however often it is added', async () => {
    const { queue, begun, end } = queueOf();
    for (const key of ['a', 'b', 'b', 'c', 'b']) queue.add(key);
    expect(queue.depth).toBe(2);
    for (const key of ['a', 'b', 'c']) await end(key);
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('works on a key again that was added while it was worked on, and never twice at once', async () => {
    const { queue, begun, end } = queueOf({ concurrency: 4 });
    queue.add('a');
    await settled();
    queue.add('a');
    queue.add('a');
    await settled();
    expect(begun).toEqual(['a']);
    await end('a');
    await end('a');
    expect(begun).toEqual(['a', 'a']);
    expect(queue.busy).toBe(0);
  });

  it('has as many keys in hand as it may, and no more', async () => {
    const { queue, most, end, begun } = queueOf({ concurrency: 2 });
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    for (const key of ['a', 'b', 'c', 'd']) await end(key);
    expect(most()).toBe(2);
    expect(begun).toHaveLength(4);
  });

  it('waits longer after each failure, up to a bound, and forgets them at the first success', async () => {
    const waits: number[] = [];
    const hooks = { retried: (_: string, __: unknown, inMs: number) => void waits.push(inMs) };
    const { queue, clock, end } = queueOf({ minBackoffMs: 100, maxBackoffMs: 500, hooks });
    queue.add('a');
    for (let failure = 0; failure < 5; failure++) {
      await end('a', new Error('no'));
      await clock.pass(500);
    }
    expect(waits).toEqual([100, 200, 400, 500, 500]);
    expect(queue.retries('a')).toBe(5);
    await end('a');
    expect(queue.retries('a')).toBe(0);
    queue.add('a');
    await end('a', new Error('no'));
    expect(waits.at(-1)).toBe(100);
  });

  it('gives the API server the time that it asks for', async () => {
    const waits: number[] = [];
    const { queue, end } = queueOf({ hooks: { retried: (_, __, inMs) => void waits.push(inMs) } });
    queue.add('a');
    await end('a', new KubeError(429, 'TooManyRequests', 'later', { retryAfterSeconds: 7 }));
    expect(waits).toEqual([7_000]);
  });

  it('does not hold up other keys for one that fails', async () => {
    const { queue, begun, end } = queueOf();
    queue.add('bad');
    queue.add('good');
    await end('bad', new Error('no'));
    await end('good');
    expect(begun).toEqual(['bad', 'good']);
  });

  it('brings a key back when it was told to, by the earliest of several wishes', async () => {
    const { queue, clock, begun, end } = queueOf();
    queue.addAfter('a', 5_000);
    queue.addAfter('a', 1_000);
    queue.addAfter('a', 9_000);
    await clock.pass(999);
    expect(begun).toEqual([]);
    await clock.pass(1);
    await end('a');
    await clock.pass(10_000);
    expect(begun).toEqual(['a']);
  });

  it('brings a key back as soon as its work asks for it', async () => {
    const begun: number[] = [];
    const clock = handClock();
    const work = async () => {
      begun.push(clock.now());
      return { againAfterMs: 300 };
    };
    const queue = createWorkQueue({ work, clock });
    queue.add('a');
    await clock.pass(700);
    await queue.close();
    await clock.pass(700);
    expect(begun).toEqual([0, 300, 600]);
  });

  it('says how many wait, how long they did, and how long they took', async () => {
    const said: string[] = [];
    const hooks = {
      added: (depth: number) => void said.push(`added ${depth}`),
      started: (waitedMs: number, depth: number) => void said.push(`started after ${waitedMs}, ${depth} wait`),
      done: (workedMs: number) => void said.push(`done in ${workedMs}`),
    };
    const { queue, clock, end } = queueOf({ hooks });
    queue.add('a');
    queue.add('b');
    await clock.pass(40);
    await end('a');
    expect(said).toEqual(['added 1', 'started after 0, 0 wait', 'added 1', 'done in 40', 'started after 40, 0 wait']);
  });

  it('goes on where what listens to it fails', async () => {
    const broken = () => {
      throw new Error('no');
    };
    const { queue, clock, begun, end } = queueOf({
      minBackoffMs: 10,
      hooks: { added: broken, started: broken, done: broken, retried: broken },
    });
    queue.add('a');
    await end('a', new Error('no'));
    await clock.pass(10);
    await end('a');
    expect(begun).toEqual(['a', 'a']);
    expect(queue.busy).toBe(0);
  });

  it('ends with what is in hand, and takes nothing more', async () => {
    let aborted = false;
    const begun: string[] = [];
    const work = async (key: string, signal: AbortSignal) => {
      begun.push(key);
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      aborted = signal.aborted;
      return undefined;
    };
    const queue = createWorkQueue({ work });
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 1);
    await settled();
    await queue.close();
    queue.add('d');
    await settled();
    expect({ aborted, begun, depth: queue.depth, busy: queue.busy }).toEqual({ aborted: true, begun: ['a'], depth: 0, busy: 0 });
  });
});
