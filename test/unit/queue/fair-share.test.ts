/** What a client's share follows over NATS: how many orders it has, and when the backlog goes first. */
import { describe, expect, it } from 'vitest';
import { lanes } from '../../../src/contracts/messages/order.ts';
import { allBands, BACKLOG, bandFor, bandOf, bandsOf, firstBands, lastBand, OWN, smallBands } from '../../../src/queue/nats/bands.ts';
import { placedOrders } from '../../../src/queue/nats/placed.ts';
import { newPoolTurns } from '../../../src/queue/nats/turns.ts';
import type { Delivery } from '../../../src/queue/queue.ts';
import { anOrder, jobId } from '../../conformance/samples.ts';

describe('bands', () => {
  it('sort the orders of a client: the first by its size, then a few, then the backlog', () => {
    expect([0, 1, 7, 8, 500].map((ahead) => bandFor(ahead, true))).toEqual([0, 2, 2, 3, 3]);
    expect([0, 1, 7, 8, 500].map((ahead) => bandFor(ahead, false))).toEqual([1, 2, 2, 3, 3]);
  });

  it('keep the names that older workers and replicas know', () => {
    expect(bandOf('bulk', OWN)).toBe('bulk');
    expect(allBands).toEqual(lanes.flatMap((lane) => [`${lane}-small`, lane, `${lane}-1`, `${lane}-2`]));
    expect([smallBands[0], firstBands[1], lastBand]).toEqual(['interactive-small', 'interactive', 'bulk-2']);
  });

  it('are all asked, whichever is first', () => {
    expect(bandsOf('bulk')).toEqual(['bulk-small', 'bulk', 'bulk-1', 'bulk-2']);
    expect(bandsOf('bulk', 3)).toEqual(['bulk-2', 'bulk-small', 'bulk', 'bulk-1']);
  });
});

describe('the orders of a client', () => {
  function opened() {
    const there = new Set<string>();
    let looks = 0;
    const placed = placedOrders(async (_, id) => {
      looks++;
      return there.has(id);
    });
    const place = async (number: number, { client = 'c', pool = 'image', stored = true } = {}) => {
      const { ahead, settle } = await placed.place(pool, client, jobId(number));
      if (stored) there.add(jobId(number));
      settle(stored);
      return ahead;
    };
    return { there, placed, place, looks: () => looks };
  }

  it('are counted while they are there, by client and pool', async () => {
    const { there, place } = opened();
    expect([await place(1), await place(2), await place(3)]).toEqual([0, 1, 2]);
    expect([await place(4, { client: 'd' }), await place(5, { pool: 'media' })]).toEqual([0, 0]);
    for (const ended of [1, 2, 3]) there.delete(jobId(ended));
    expect(await place(6)).toBe(0);
  });

  it('that come together are counted together', async () => {
    const { placed } = opened();
    const together = await Promise.all([1, 2, 3].map((n) => placed.place('image', 'c', jobId(n))));
    expect(together.map(({ ahead }) => ahead)).toEqual([0, 1, 2]);
  });

  it('count as there where that cannot be told', async () => {
    const placed = placedOrders(() => Promise.reject(new Error('no answer')));
    (await placed.place('image', 'c', jobId(1))).settle(true);
    expect((await placed.place('image', 'c', jobId(2))).ahead).toBe(1);
  });

  it('that were refused are not counted', async () => {
    const { place } = opened();
    await place(1, { stored: false });
    expect(await place(2)).toBe(0);
  });

  it('cost two looks each however many there are, and are counted no further than it matters', async () => {
    const { place, looks } = opened();
    for (let n = 0; n < 1_000; n++) await place(n);
    expect(bandFor(await place(1_000), true)).toBe(BACKLOG);
    expect(looks()).toBeLessThan(2_000);
  });
});

describe('turns', () => {
  const HOLD_MS = 30_000;
  function opened(random: number) {
    let now = 0;
    const turns = newPoolTurns({ holdMs: HOLD_MS, now: () => now, random: () => random });
    const delivery = (): Delivery => ({
      order: anOrder(),
      redelivered: false,
      extend: async () => 'held',
      release: async () => {},
      isWaitedFor: async () => false,
      isOneOfSeveral: async () => false,
      giveWay: async () => {},
      done: async () => {},
    });
    const take = () => {
      const first = turns.first();
      return { first, ...turns.timed(delivery(), first) };
    };
    const pass = (ms: number) => {
      now += ms;
    };
    return { turns, take, pass };
  }

  it('are the usual ones at first, but for one worker of eight', () => {
    expect([0.999, 0.125, 0.124].map((random) => opened(random).turns.first())).toEqual([0, 0, BACKLOG]);
  });

  it('give what waits longest an eighth of the time, however long its orders take', async () => {
    const { take, pass } = opened(0);
    const spent = { before: 0, usual: 0 };
    for (let n = 0; n < 20_000; n++) {
      const { first, done } = take();
      const tookMs = first === 0 ? 140 : 600_000;
      pass(tookMs);
      await done();
      spent[first === 0 ? 'usual' : 'before'] += tookMs;
    }
    expect(spent.before).toBeGreaterThan(0);
    expect(spent.before / (spent.before + spent.usual)).toBeLessThan(1 / 3);
  });

  it('let every band but the first begin in turn', async () => {
    const { take, pass } = opened(0);
    const begun = [];
    while (begun.length < 5) {
      const { first, done } = take();
      pass(1);
      await done();
      if (first !== 0) begun.push(first);
    }
    expect(begun).toEqual([3, 2, 1, 3, 2]);
  });

  it('let one order go before its turn at a time, and another where its holder fell silent', async () => {
    const { turns, take, pass } = opened(0);
    const held = take();
    expect(held.first).toBe(BACKLOG);
    expect(turns.first()).toBe(0);
    pass(HOLD_MS - 1);
    await held.extend();
    pass(HOLD_MS - 1);
    expect(turns.first()).toBe(0);
    pass(1);
    expect(turns.first()).toBe(BACKLOG);
  });
});
