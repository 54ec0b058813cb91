/** Which pools orders leave, and where to. */
import { expect, it } from 'vitest';
import type { GonePool, Pool } from '../../src/pools/registry.ts';
import { DESERTED_MS, RENAMED_MS, type Since, UNSERVED_MS, waysOut } from '../../src/upkeep/ways-out.ts';

const pool = (name: string, about: Partial<Pool> = {}): Pool => ({
  name,
  toolchain: 'image',
  paused: false,
  preference: 0,
  capacity: 0,
  workers: 1,
  busy: 0,
  engines: new Map([['sharp', '1']]),
  seenAt: 1,
  degraded: false,
  waitMs: 0,
  ...about,
});
const gonePool = (about: Partial<GonePool> = {}): GonePool => ({
  toolchain: 'image',
  engines: ['sharp'],
  workers: 0,
  retracted: true,
  ...about,
});

/** What is to be done once it has been so for so long, ms. */
function after(ms: number, pools: readonly Pool[], gone: Readonly<Record<string, GonePool>> = {}) {
  const facts = { pools: new Map(pools.map((each) => [each.name, each])), gone: new Map(Object.entries(gone)) };
  const before: Since = waysOut(facts, new Map(), 0).since;
  return waysOut(facts, before, ms).ways;
}
const DEGRADED = { workers: 0, capacity: 4, degraded: true };

it('nobody leaves a pool that serves, will serve, or is paused', () => {
  const all = [pool('a'), pool('b', { workers: 0, capacity: 4 }), pool('c', { ...DEGRADED, paused: true })];
  expect(after(10 * UNSERVED_MS, all)).toEqual([]);
});

it('a pool whose workers do not come up is left, once it has been so for a while, for one with workers', () => {
  const all = [pool('a', DEGRADED), pool('b', { preference: 9 })];
  expect(after(UNSERVED_MS - 1, all)).toEqual([]);
  expect(after(UNSERVED_MS, all)).toMatchObject([{ from: 'a', to: 'b', ends: false, onceOnly: true }]);
});

it.each([
  ['has no workers', [pool('a', DEGRADED), pool('b', { workers: 0, capacity: 4 })]],
  ['is of another toolchain', [pool('a', DEGRADED), pool('b', { toolchain: 'pdf' })]],
  ['lacks an engine', [pool('a', DEGRADED), pool('b', { engines: new Map() })]],
])('it is not left for one that %s', (_, all) => expect(after(10 * UNSERVED_MS, all)).toEqual([]));

it('a pool that is no more is left at once for one that can do as much', () => {
  expect(after(0, [pool('b')], { a: gonePool() })).toMatchObject([{ from: 'a', to: 'b', onceOnly: false }]);
});

it('where there is none, its orders end, unless its declaration was merely lost', () => {
  const ends = (ms: number, pools: readonly Pool[], gone: GonePool) => after(ms, pools, { a: gone })[0]?.ends;
  expect(ends(RENAMED_MS - 1, [], gonePool())).toBe(false);
  expect(ends(RENAMED_MS, [], gonePool())).toBe(true);
  expect(ends(RENAMED_MS, [], gonePool({ retracted: false }))).toBe(false);
  expect(ends(RENAMED_MS, [pool('new', { workers: 0, capacity: 4, engines: new Map(), seenAt: 0 })], gonePool())).toBe(false);
});

it('what its workers hold is theirs, until none of them has been heard for long', () => {
  expect(after(DESERTED_MS, [pool('b')], { a: gonePool({ workers: 1 }) })[0]?.deserted).toBe(false);
  expect(after(DESERTED_MS - 1, [pool('b')], { a: gonePool() })[0]?.deserted).toBe(false);
  expect(after(DESERTED_MS, [pool('b')], { a: gonePool() })[0]?.deserted).toBe(true);
});
