/** Two leaders that make Jobs at the same time, in every order that chance brings about: never more live ones than the capacity. */
import { describe, expect, it } from 'vitest';
import { freeSlots, slotsBelow } from '../../../../src/controller/pools/apply/room.ts';
import { KEPT_FAILURES } from '../../../../src/controller/pools/decide/decide.ts';
import type { KubeJob } from '../../../../src/controller/pools/objects.ts';
import { jobName } from '../../../../src/controller/pools/objects.ts';

const POOL = 'image';
const CAPACITY = 5;

/** Repeatable (mulberry32). @returns whole numbers below `bound` */
function dice(seed: number) {
  let state = seed;
  return (bound: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
}

const job = (slot: number, uid: string, verdict?: 'Complete' | 'Failed', at = 0): KubeJob => ({
  metadata: { name: jobName(POOL, slot), uid, labels: { 'filemill.io/pool': POOL, 'filemill.io/slot': String(slot) } },
  status:
    verdict === undefined
      ? {}
      : {
          conditions: [{ type: verdict, status: 'True', reason: 'r', message: 'm', lastTransitionTime: new Date(at * 1000).toISOString() }],
        },
});
const isOver = ({ status }: KubeJob, ...types: readonly string[]) => status?.conditions?.some(({ type }) => types.includes(type)) ?? false;

/** @returns the most that were live, and the highest slot that was used */
function run(seed: number, steps: number) {
  const below = dice(seed);
  const jobs = new Map<string, KubeJob>();
  const live = () => [...jobs.values()].filter((one) => !isOver(one, 'Complete', 'Failed'));
  const plans: number[][] = [[], []];
  let [serial, clock, most, highest] = [0, 0, 0, 0];
  for (let step = 0; step < steps; step++) {
    clock++;
    const leader = below(2);
    const plan = plans[leader] ?? [];
    switch (below(6)) {
      case 0:
        // What a leader has read it works off before it reads again, however often the other does meanwhile.
        if (plan.length === 0)
          plan.push(...freeSlots([...jobs.values()], new Set(), [], { capacity: CAPACITY, wanted: 1 + below(CAPACITY) }));
        break;
      case 1:
      case 2: {
        const slot = plan.shift();
        if (slot === undefined || jobs.has(jobName(POOL, slot))) break;
        jobs.set(jobName(POOL, slot), job(slot, `u${serial++}`));
        highest = Math.max(highest, slot);
        break;
      }
      case 3:
      case 4: {
        const [one] = live().slice(below(CAPACITY));
        if (one === undefined) break;
        const slot = Number(one.metadata.name.split('-').at(-1));
        jobs.set(one.metadata.name, job(slot, one.metadata.uid ?? '', below(2) === 0 ? 'Complete' : 'Failed', clock));
        break;
      }
      default: {
        const failed = [...jobs.values()].filter((one) => isOver(one, 'Failed'));
        const endOf = ({ status }: KubeJob) => Date.parse(status?.conditions?.[0]?.lastTransitionTime ?? '');
        const over = failed.toSorted((a, b) => endOf(b) - endOf(a)).slice(KEPT_FAILURES);
        for (const one of [...[...jobs.values()].filter((each) => isOver(each, 'Complete')), ...over]) jobs.delete(one.metadata.name);
      }
    }
    most = Math.max(most, live().length);
  }
  return { most, highest };
}

it('gives the lowest slots that no Job has, and no more than there is room for', () => {
  const there = [job(1, 'a'), job(3, 'b')];
  expect(freeSlots(there, new Set(), [0], { capacity: 10, wanted: 4 })).toEqual([2, 4, 5, 6]);
  expect(freeSlots(there, new Set(), [0], { capacity: 3, wanted: 4 })).toEqual([2]);
  expect(freeSlots([job(1, 'a', 'Complete'), job(3, 'b')], new Set(), [0], { capacity: 3, wanted: 4 })).toEqual([1, 2]);
});

it('gives none that the API server refuses, however many names are taken', () => {
  const taken = Array.from({ length: slotsBelow(3) - 1 }, (_, slot) => slot);
  expect(freeSlots([], new Set(), taken, { capacity: 3, wanted: 3 })).toEqual([slotsBelow(3) - 1]);
  expect(freeSlots([], new Set(), [...taken, slotsBelow(3) - 1], { capacity: 3, wanted: 3 })).toEqual([]);
});

describe('two leaders that read and make Jobs in any order', () => {
  it('never have more live ones than the capacity', () => {
    const runs = Array.from({ length: 400 }, (_, seed) => run(seed, 500));
    expect(Math.max(...runs.map(({ most }) => most))).toBe(CAPACITY);
    expect(Math.max(...runs.map(({ highest }) => highest))).toBeGreaterThanOrEqual(CAPACITY);
  });
});
