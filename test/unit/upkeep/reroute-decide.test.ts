/** Which pools orders leave, and where to. */
import { describe, expect, it } from 'vitest';
import type { Pool, RemovedPool } from '../../../src/pools/registry.ts';
import { DESERTED_MS, findReroutes, RENAMED_MS, type Since, UNSERVED_MS } from '../../../src/upkeep/reroutes.ts';
import { aPool } from '../../conformance/samples.ts';

const gonePool = (about: Partial<RemovedPool> = {}): RemovedPool => ({
  toolchain: 'image',
  engines: ['sharp'],
  workers: 0,
  retracted: true,
  ...about,
});

/** What is to be done once it has been so for so long, ms. */
function after(ms: number, pools: readonly Pool[], removed: Readonly<Record<string, RemovedPool>> = {}) {
  const facts = { pools: new Map(pools.map((each) => [each.name, each])), removed: new Map(Object.entries(removed)) };
  const before: Since = findReroutes(facts, new Map(), 0).since;
  return findReroutes(facts, before, ms).ways;
}
const DEGRADED = { workers: 0, capacity: 4, degraded: true };

it('no order leaves a pool that serves, will serve, or is paused', () => {
  const all = [aPool('a'), aPool('b', { workers: 0, capacity: 4 }), aPool('c', { ...DEGRADED, paused: true })];
  expect(after(10 * UNSERVED_MS, all)).toEqual([]);
});

it('a pool whose workers do not come up is left, once it has been so for a while, for one with workers', () => {
  const all = [aPool('a', DEGRADED), aPool('b', { preference: 9 })];
  expect(after(UNSERVED_MS - 1, all)).toEqual([]);
  expect(after(UNSERVED_MS, all)).toMatchObject([{ from: 'a', to: 'b', ends: false, onceOnly: true }]);
});

it.each([
  ['has no workers', [aPool('a', DEGRADED), aPool('b', { workers: 0, capacity: 4 })]],
  ['is of another toolchain', [aPool('a', DEGRADED), aPool('b', { toolchain: 'pdf' })]],
  ['lacks an engine', [aPool('a', DEGRADED), aPool('b', { engines: new Map() })]],
])('it is not left for one that %s', (_, all) => expect(after(10 * UNSERVED_MS, all).flatMap(({ to }) => to ?? [])).toEqual([]));

it('a pool that is no more is left at once for one that can do as much', () => {
  expect(after(0, [aPool('b')], { a: gonePool() })).toMatchObject([{ from: 'a', to: 'b', onceOnly: false }]);
});

it('where there is none, its orders end, unless its declaration was merely lost', () => {
  const ends = (ms: number, pools: readonly Pool[], removed: RemovedPool) => after(ms, pools, { a: removed })[0]?.ends;
  expect(ends(RENAMED_MS - 1, [], gonePool())).toBe(false);
  expect(ends(RENAMED_MS, [], gonePool())).toBe(true);
  expect(ends(RENAMED_MS, [], gonePool({ retracted: false }))).toBe(false);
  expect(ends(RENAMED_MS, [aPool('new', { workers: 0, capacity: 4, engines: new Map(), seenAt: 0 })], gonePool())).toBe(false);
});

it('what its workers hold is theirs, until none of them has been heard for long', () => {
  expect(after(DESERTED_MS, [aPool('b')], { a: gonePool({ workers: 1 }) })[0]?.deserted).toBe(false);
  expect(after(DESERTED_MS - 1, [aPool('b')], { a: gonePool() })[0]?.deserted).toBe(false);
  expect(after(DESERTED_MS, [aPool('b')], { a: gonePool() })[0]?.deserted).toBe(true);
});

describe('what the dead workers of a pool that was not removed held', () => {
  const ways = (ms: number, pools: readonly Pool[]) => after(ms, pools);
  const isDeserted = (ms: number, pools: readonly Pool[]) => ways(ms, pools).some(({ from, deserted }) => from === 'a' && deserted);

  it.each([
    ['goes to another pool', [aPool('a', DEGRADED), aPool('b')], 'b'],
    ['waits where no other pool can take it', [aPool('a', DEGRADED), aPool('c', { toolchain: 'pdf' })], undefined],
  ])('%s once none has been heard for long', (_, pools, to) => {
    expect(isDeserted(DESERTED_MS - 1, pools)).toBe(false);
    expect(ways(DESERTED_MS, pools)).toMatchObject([{ from: 'a', to, ends: false, deserted: true, onceOnly: true }]);
  });

  it.each([
    ['a worker that takes no orders is heard', [aPool('a', { ...DEGRADED, isHeard: true }), aPool('b')]],
    ['workers will start', [aPool('a', { workers: 0, capacity: 4 }), aPool('b')]],
    ['it is paused', [aPool('a', { ...DEGRADED, paused: true }), aPool('b')]],
    ['this process hears no worker at all', [aPool('a', DEGRADED), aPool('c', { workers: 0 })]],
  ])('stays theirs while %s', (_, pools) => expect(isDeserted(10 * DESERTED_MS, pools)).toBe(false));

  it('stays theirs until this process has heard others, and not them, for long', () => {
    let since: Since = new Map();
    const check = (now: number, b: Partial<Pool>) => {
      const pools = new Map([aPool('a', DEGRADED), aPool('b', b)].map((pool) => [pool.name, pool]));
      const found = findReroutes({ pools, removed: new Map() }, since, now);
      since = found.since;
      return found.ways[0]?.deserted ?? false;
    };
    expect(check(0, {})).toBe(false);
    // An outage.
    expect(check(DESERTED_MS - 1, { workers: 0 })).toBe(false);
    expect(check(DESERTED_MS, {})).toBe(false);
    expect(check(2 * DESERTED_MS - 1, {})).toBe(false);
    expect(check(2 * DESERTED_MS, {})).toBe(true);
  });
});
