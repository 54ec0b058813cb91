/** A pool under load as it comes, simulated second by second around the real decision: it keeps up, and does not flap. */
import { describe, expect, it } from 'vitest';
import { decide } from '../../../../src/controller/pools/decide/decide.ts';
import { stabilisationWindow } from '../../../../src/controller/pools/decide/stabilisation.ts';
import type { ObservedWorker, PoolScale, WorkerState } from '../../../../src/controller/pools/observation.ts';

const settings: PoolScale = {
  capacity: 40,
  standby: 1,
  paused: false,
  idleMs: 120_000,
  targetWaitMs: 10_000,
  conversionsPerWorker: 100,
  slots: 1,
};
/** From the making of a Job to its worker's first word, ms. */
const START_MS = 3_000;
const STEP_MS = 500;

interface Simulated {
  readonly slot: number;
  readonly readyAt: number;
  busyUntil: number;
  done: number;
  state: WorkerState;
}

/** The same numbers every time (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** @param rate orders a second at a time in ms @returns what became of it */
function simulate(rate: (at: number) => number, serviceMs: number, lengthMs: number, pool = settings) {
  const next = random(7);
  const waiting: number[] = [];
  const waits: number[] = [];
  const counts: number[] = [];
  const lately = stabilisationWindow();
  let crew: Simulated[] = [];
  let [made, retired, ended] = [0, 0, 0];
  for (let now = 0; now < lengthMs; now += STEP_MS) {
    // Poisson: as many as fit into the step.
    for (let left = next(), chance = Math.exp((-rate(now) * STEP_MS) / 1000), k = 0; left > chance && k < 10_000; k++) {
      left *= next();
      waiting.push(now);
    }
    for (const worker of crew) {
      if (worker.state === 'starting' && now >= worker.readyAt) worker.state = 'idle';
      for (let until = Math.max(now, worker.busyUntil); ; until = worker.busyUntil) {
        if (until >= now + STEP_MS) break;
        const order =
          worker.state === 'starting' || worker.state === 'draining' || worker.done >= pool.conversionsPerWorker
            ? undefined
            : waiting.shift();
        if (order === undefined) break;
        waits.push(until - order);
        worker.busyUntil = until + serviceMs;
        worker.done++;
      }
      if (worker.state === 'idle' || worker.state === 'busy') worker.state = worker.busyUntil > now ? 'busy' : 'idle';
    }
    const over = crew.filter(
      (worker) => worker.busyUntil <= now && (worker.state === 'draining' || worker.done >= pool.conversionsPerWorker),
    );
    ended += over.length;
    crew = crew.filter((worker) => !over.includes(worker));

    const inFlight = crew.filter(({ busyUntil }) => busyUntil > now).length;
    const workers: ObservedWorker[] = crew.map(({ slot, state }) => ({
      name: String(slot),
      uid: '',
      slot,
      pod: '',
      state,
      current: true,
      busyMs: 0,
      guarded: false,
    }));
    const demand = { pending: waiting.length, inFlight, oldestMs: undefined };
    const { actions, desired = 0 } = decide({
      now,
      pool,
      demand,
      serviceMs,
      enginesKnown: true,
      reportedTemplate: undefined,
      enginesCurrent: true,
      workers,
      foreignSlots: [],
      history: lately.all(),
      backOff: undefined,
    });
    lately.note(now, desired, pool.idleMs);
    for (const action of actions) {
      if (action.do === 'create') {
        for (let slot = 0, left = action.count; left > 0; slot++) {
          if (crew.some((other) => other.slot === slot)) continue;
          crew.push({ slot, readyAt: now + START_MS, busyUntil: 0, done: 0, state: 'starting' });
          left--;
        }
        made += action.count;
      } else if (action.do === 'retire') {
        const leaver = crew.find(({ slot }) => slot === action.worker.slot);
        if (leaver !== undefined) leaver.state = 'draining';
        retired++;
      }
    }
    counts.push(crew.length);
    expect(crew.length).toBeLessThanOrEqual(pool.capacity);
  }
  const sorted = waits.toSorted((a, b) => a - b);
  return { made, retired, ended, counts, p95: sorted[Math.floor(sorted.length * 0.95)] ?? 0, served: waits.length, left: waiting.length };
}

const HOUR = 3_600_000;

describe('a pool under Poisson load', () => {
  it('that stays the same keeps its workers: none is retired but those that have done their share', () => {
    // 5 a second of 1 s each: five workers' worth, whose number in flight varies all the time.
    const { made, retired, ended, counts, p95 } = simulate(() => 5, 1_000, HOUR);
    const settled = counts.slice(counts.length / 6);
    expect(Math.max(...settled) - Math.min(...settled)).toBeLessThanOrEqual(10);
    // 18,000 orders at 100 a worker: 180 ends of life, and next to nothing on top.
    expect(ended - retired).toBeGreaterThan(140);
    expect(retired).toBeLessThan(60);
    expect(made).toBeLessThan(260);
    expect(p95).toBeLessThan(settings.targetWaitMs);
  });

  it('that comes in waves follows them without flapping', () => {
    const wave = (at: number) => 4 + 3 * Math.sin((2 * Math.PI * at) / 1_200_000);
    const { counts, p95, retired } = simulate(wave, 2_000, HOUR);
    // Every turn from growing to shrinking counts; three waves have three of them, and the idle time smooths the rest.
    const turns = counts.filter((count, index) => index > 240 && count < Math.max(...counts.slice(index - 240, index)) - 4).length;
    expect(turns).toBeGreaterThan(0);
    expect(retired).toBeLessThan(120);
    expect(p95).toBeLessThan(settings.targetWaitMs);
  });

  it('of short orders needs few workers, and many only for as long as it must', () => {
    const burst = (at: number) => (at < 2_000 ? 1_000 : 0);
    const { counts, served, left, p95 } = simulate(burst, 50, 600_000, { ...settings, capacity: 1_000 });
    expect(served).toBeGreaterThan(1_800);
    expect(left).toBe(0);
    expect(Math.max(...counts)).toBeLessThanOrEqual(45);
    expect(counts.at(-1)).toBe(settings.standby);
    expect(p95).toBeLessThan(settings.targetWaitMs);
  });

  it('too small for what comes stays at its capacity, and loses nothing', () => {
    const { counts, served, left } = simulate((at) => (at < 300_000 ? 60 : 0), 1_000, 1_200_000);
    expect(Math.max(...counts)).toBe(settings.capacity);
    expect(left).toBe(0);
    expect(served).toBeGreaterThan(17_000);
  });

  it('without any load keeps its standby for ever', () => {
    const { made, retired, counts } = simulate(() => 0, 1_000, HOUR);
    expect([made, retired, counts.at(-1)]).toEqual([1, 0, 1]);
  });
});
