/** Workers that die soon after their first heartbeat, second by second around the real decision and memory: the back-off grows, and ends once one lives. */
import { describe, expect, it } from 'vitest';
import { decide } from '../../../../src/controller/pools/decide/decide.ts';
import { newMemory } from '../../../../src/controller/pools/memory.ts';
import type { Observation, ObservedWorker } from '../../../../src/controller/pools/observation.ts';
import { troubleOf } from '../../../../src/controller/pools/report/trouble.ts';
import { NOTHING_OBSERVED } from '../../../../src/controller/pools/validate.ts';

const TEMPLATE = 'template';
const SECOND = 1_000;
/** From the creation of a Job to its worker's first heartbeat, ms. */
const START_MS = 1 * SECOND;

/** @param lifeMs from a worker's creation to its death, for one created at a time in ms @returns when Jobs were created, and the seconds in which the pool was in trouble */
function simulate(lifeMs: (createdAt: number) => number, lengthMs: number) {
  const memory = newMemory();
  const createdAt: number[] = [];
  const troubled: number[] = [];
  for (let now = 0; now < lengthMs; now += SECOND) {
    const workers = createdAt.flatMap((at, slot): ObservedWorker[] => {
      const uid = `uid-${slot}`;
      memory.sawWorker(uid, now, { listening: true, isSilent: false });
      const worker = { name: uid, uid, slot, pod: uid, current: true, busyMs: 0, guarded: false };
      if (now >= at + lifeMs(at)) {
        const describe = () => ({ reason: 'WorkersFail', message: 'exit code 1' }) as const;
        memory.workerFailed(uid, now, { createdAt: at, endedAt: at + lifeMs(at), template: TEMPLATE, describe }, TEMPLATE);
        return [{ ...worker, state: 'failed' }];
      }
      if (now < at + START_MS) return [{ ...worker, state: 'starting' }];
      memory.heardWorker(uid, now, { worker: uid, ended: 0, busyMs: 0, createdAt: at, template: TEMPLATE });
      return [{ ...worker, state: 'idle' }];
    });
    const observed: Observation = {
      ...NOTHING_OBSERVED,
      now,
      pool: { ...NOTHING_OBSERVED.pool, capacity: 1, standby: 1, slots: 1, conversionsPerWorker: 1, idleMs: 0 },
      demand: { pending: 0, inFlight: 0, oldestMs: undefined },
      enginesKnown: true,
      reportedTemplate: undefined,
      enginesCurrent: true,
      workers,
      backOff: memory.backOff(TEMPLATE),
    };
    const decision = decide(observed);
    if (troubleOf(observed, decision) !== undefined) troubled.push(now / SECOND);
    const creates = decision.actions.some((action) => action.do === 'create');
    if (creates) createdAt.push(now);
    const { desired } = decision;
    memory.reconciled(
      { created: creates ? 1 : 0, refused: undefined, blocked: [], desired, workers, idleMs: 0, creates, template: TEMPLATE },
      now,
    );
  }
  return { createdAt: createdAt.map((at) => at / SECOND), troubled };
}

describe('workers that die three seconds after they were created', () => {
  const { createdAt, troubled } = simulate(() => 3 * SECOND, 600 * SECOND);

  it('are created at doubling intervals: a first heartbeat does not end the back-off', () => {
    // Three deaths may be the fault of a file; from the fourth on 10, 20, 40 s and so on are waited.
    const pauses = createdAt.slice(1).map((at, index) => at - (createdAt[index] ?? 0));
    expect(pauses.slice(0, 3)).toEqual([3, 3, 3]);
    for (const [index, atLeast] of [10, 20, 40, 80, 160].entries()) expect(pauses[index + 3]).toBeGreaterThanOrEqual(atLeast);
    expect(createdAt.filter((at) => at < 100).length).toBeLessThanOrEqual(7);
  });

  it('keep the pool in trouble without a gap, also while one of them lives', () => {
    const [first = 0, last = 0] = [troubled[0], troubled.at(-1)];
    expect(first).toBeLessThan(20);
    expect(troubled).toEqual(Array.from({ length: last - first + 1 }, (_, index) => first + index));
    expect(last).toBe(599);
  });
});

it('a worker that lives ends the trouble after a minute, without another one being created', () => {
  const { createdAt, troubled } = simulate((at) => (at < 30 * SECOND ? 3 * SECOND : Number.POSITIVE_INFINITY), 300 * SECOND);
  const lasting = createdAt.at(-1) ?? 0;
  expect(lasting).toBeLessThan(100);
  expect(troubled.at(-1)).toBeLessThanOrEqual(lasting + 61);
});
