/** Workers that no node can start, second by second around the real decision and memory: they are moved to other nodes, and seldom. */
import { describe, expect, it } from 'vitest';
import { decide } from '../../../../src/controller/pools/decide/decide.ts';
import { newMemory } from '../../../../src/controller/pools/memory.ts';
import type { Observation, ObservedWorker } from '../../../../src/controller/pools/observation.ts';
import { troubleOf } from '../../../../src/controller/pools/report/trouble.ts';
import { NOTHING_OBSERVED } from '../../../../src/controller/pools/validate.ts';

const TEMPLATE = 'template';
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** From the creation of a Job to the kubelet's first report that the image cannot be pulled, ms. */
const STUCK_AFTER_MS = 3 * SECOND;
const noImage = { reason: 'ImagePullFailed', message: 'not found' } as const;

/** @param starts whether the nth worker that is created comes up @returns how many Jobs were created in each minute, and the seconds without trouble */
function simulate(starts: (nth: number) => boolean, lengthMs: number) {
  const memory = newMemory();
  const there = new Map<number, number>();
  const created: number[] = [];
  const well: number[] = [];
  let served = 0;
  for (let now = 0; now < lengthMs; now += SECOND) {
    const workers = [...there].map(([nth, createdAt]): ObservedWorker => {
      const uid = `uid-${nth}`;
      memory.sawWorker(uid, now, { listening: true, isSilent: false });
      const worker = { name: uid, uid, slot: nth, pod: uid, current: true, busyMs: 0, guarded: false };
      const comesUp = starts(nth);
      const isStuck = !comesUp && now >= createdAt + STUCK_AFTER_MS;
      memory.sawStuck(uid, now, isStuck);
      if (isStuck) return { ...worker, state: 'stuck', trouble: noImage, stuckMs: now - (memory.worker(uid)?.stuckSince ?? now) };
      if (comesUp) memory.heardWorker(uid, now, { worker: uid, ended: 0, busyMs: 0, createdAt, template: TEMPLATE });
      return { ...worker, state: comesUp ? 'idle' : 'starting' };
    });
    const observed: Observation = {
      ...NOTHING_OBSERVED,
      now,
      pool: { ...NOTHING_OBSERVED.pool, capacity: 4, standby: 4, idleMs: 0 },
      demand: { pending: 0, inFlight: 0, oldestMs: undefined },
      workers,
      backOff: memory.backOff(TEMPLATE),
    };
    const decision = decide(observed);
    if (troubleOf(observed, decision) === undefined) well.push(now / SECOND);
    served = workers.filter(({ state }) => state === 'idle').length;
    let count = 0;
    for (const action of decision.actions) {
      if (action.do === 'remove') there.delete(Number(action.worker.slot));
      if (action.do === 'create') count += action.count;
    }
    for (let left = count; left > 0; left--) {
      there.set(created.length, now);
      created.push(now);
    }
    const { desired } = decision;
    memory.reconciled(
      { created: count, refused: undefined, blocked: [], desired, workers, idleMs: 0, creates: count > 0, template: TEMPLATE },
      now,
    );
  }
  return { created: created.map((at) => at / SECOND), well, served };
}

describe('workers whose image no node can pull', () => {
  const { created, well } = simulate(() => false, 120 * MINUTE);

  it('are tried again one at a time, and seldom', () => {
    expect(created.slice(0, 4)).toEqual([0, 0, 0, 0]);
    const pauses = created.slice(4).map((at, index) => at - (created[index + 3] ?? 0));
    // Five minutes on the node, and the back-off on top.
    expect(Math.min(...pauses)).toBeGreaterThan(300);
    expect(created.length).toBeGreaterThan(10);
    expect(created.length).toBeLessThan(28);
  });

  it('keep the pool in trouble from their first failure on', () => expect(Math.max(...well)).toBeLessThan(10));
});

it('a worker that one node cannot start is replaced while the others serve, and its replacements are as seldom', () => {
  const { created, served } = simulate((nth) => nth < 3, 60 * MINUTE);
  expect(served).toBe(3);
  expect(created.length).toBeGreaterThan(8);
  expect(created.length).toBeLessThanOrEqual(4 + 60 / 5);
});

it('a pool whose only failing node is left has all its workers in the end', () => {
  const { created, served } = simulate((nth) => nth !== 1, 6 * MINUTE);
  expect([created.length, served]).toEqual([5, 4]);
});
