/** What a worker takes for its own fault, how many orders it takes, and what becomes of an order that no replica can decrypt. */
import { describe, expect, it, vi } from 'vitest';
import { type Fault, faultOf } from '../../../src/contracts/messages/fault.ts';
import { conditionsOf } from '../../../src/controller/pools/report/conditions.ts';
import { troubleOf } from '../../../src/controller/pools/report/trouble.ts';
import { NOTHING_DECIDED, NOTHING_OBSERVED } from '../../../src/controller/pools/validate.ts';
import { conversionFailed } from '../../../src/errors.ts';
import { Unreachable } from '../../../src/objects/store.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import type { Checks } from '../../../src/worker/checks.ts';
import { classifyError, EngineAbsent, LauncherFailed } from '../../../src/worker/failure.ts';
import { watchHealth } from '../../../src/worker/health.ts';

const withCode = (code: string): Error => Object.assign(new Error(code), { code });

describe('the fault of a worker', () => {
  const cases: Readonly<Record<string, [unknown, string | undefined]>> = {
    'is a full disk': [withCode('ENOSPC'), 'disk_full'],
    'is a quota': [withCode('EDQUOT'), 'disk_full'],
    'is a disk that fails': [withCode('EIO'), 'disk_broken'],
    'is a disk that cannot be written': [withCode('EROFS'), 'disk_broken'],
    'is too few descriptors, whatever that was called': [new Unreachable('not there', { cause: withCode('EMFILE') }), 'descriptors'],
    'is a launcher that confines nothing': [conversionFailed('internal', { cause: new LauncherFailed('cannot open') }), 'launcher'],
    'is a full disk that a program speaks of': [
      conversionFailed('corrupt_input', { cause: new Error('exit 1: out.txt: No space left on device') }),
      'disk_full',
    ],
    'is no file that is damaged': [conversionFailed('corrupt_input', { cause: new Error('exit 1: not a PDF') }), undefined],
    'is no object store that is away': [new Unreachable('not there', { cause: withCode('ECONNREFUSED') }), undefined],
  };
  for (const [sentence, [error, reason]] of Object.entries(cases)) it(sentence, () => expect(classifyError(error)).toBe(reason));
});

describe('an order', () => {
  const full = faultOf('disk_full', 'no room');
  const healthWith = (found: Fault | undefined, isFilledByJobs = false, others = true) => {
    const checks: Checks = {
      room: async () => found,
      glance: async () => found,
      everything: async () => found,
      isFilledByJobs: async () => isFilledByJobs,
    };
    const health = watchHealth(checks, { others }, createLog('silent'));
    return {
      blame: (error: unknown) => health.classifyError(error).finally(() => health.close()),
    };
  };
  it('of a worker that is not well is not counted', async () =>
    expect(await healthWith(full).blame(conversionFailed('corrupt_input'))).toBe('own'));
  it('that filled the disk itself is', async () => expect(await healthWith(full, true).blame(withCode('ENOSPC'))).toBe('doubtful'));
  it('that met a full disk which is not full any more is', async () =>
    expect(await healthWith(undefined).blame(withCode('ENOSPC'))).toBe('doubtful'));
  it('that found no descriptor is not', async () => expect(await healthWith(undefined).blame(withCode('EMFILE'))).toBe('own'));
  const absent = conversionFailed('engine_missing', { cause: new EngineAbsent() });
  it('that needs what another worker may have is not', async () => expect(await healthWith(undefined).blame(absent)).toBe('own'));
  it('that needs what no worker has fails', async () => expect(await healthWith(undefined, false, false).blame(absent)).toBeUndefined());
  it('that failed on a worker that is well was no fault of it', async () =>
    expect(await healthWith(undefined).blame(conversionFailed('corrupt_input'))).toBeUndefined());
  it('that took too long was none either, whatever is wrong', async () =>
    expect(await healthWith(full).blame(conversionFailed('timeout'))).toBeUndefined());
});

describe('a file that fails', () => {
  const broken = faultOf('disk_broken', 'it cannot be read');
  /** A worker whose checks last until they are ended; each finds what was so when it began. */
  function scene() {
    const state = { isBroken: false, begun: [] as PromiseWithResolvers<void>[] };
    const everything = async () => {
      const found = state.isBroken ? broken : undefined;
      const end = Promise.withResolvers<void>();
      state.begun.push(end);
      await end.promise;
      return found;
    };
    const checks: Checks = { room: async () => undefined, glance: async () => undefined, everything, isFilledByJobs: async () => false };
    const health = watchHealth(checks, { others: true }, createLog('silent'));
    const blame = () => health.classifyError(conversionFailed('corrupt_input'));
    const endCheck = async (number: number) => {
      await vi.waitFor(() => expect(state.begun.length).toBe(number));
      state.begun.at(-1)?.resolve();
    };
    return { state, blame, endCheck, [Symbol.dispose]: () => health.close() };
  }

  it('is judged by a check that begins after it, however lately another succeeded', async () => {
    using worker = scene();
    const first = worker.blame();
    await worker.endCheck(1);
    expect(await first).toBeUndefined();
    worker.state.isBroken = true;
    const second = worker.blame();
    await worker.endCheck(2);
    expect(await second).toBe('own');
  });

  it('shares that check with those that fail before it begins', async () => {
    using worker = scene();
    const first = worker.blame();
    await vi.waitFor(() => expect(worker.state.begun.length).toBe(1));
    // It breaks while the first check is under way, which has seen that all was well.
    worker.state.isBroken = true;
    const others = [worker.blame(), worker.blame(), worker.blame()];
    await worker.endCheck(1);
    expect(await first).toBeUndefined();
    await worker.endCheck(2);
    expect(await Promise.all(others)).toEqual(['own', 'own', 'own']);
    expect(worker.state.begun.length).toBe(2);
  });
});

describe('a worker that waits for an order', () => {
  const full = faultOf('disk_full', 'no room');
  function scene() {
    const state = { found: undefined as Fault | undefined };
    const look = async () => state.found;
    const health = watchHealth(
      { room: look, glance: look, everything: look, isFilledByJobs: async () => false },
      { others: true },
      createLog('silent'),
    );
    return { state, health, [Symbol.dispose]: () => health.close() };
  }

  it('waits no longer once something is found wrong', async () => {
    using worker = scene();
    const signal = await worker.health.ready(new AbortController().signal);
    expect(signal.aborted).toBe(false);
    worker.state.found = full;
    await worker.health.check();
    expect(signal.aborted).toBe(true);
    worker.state.found = undefined;
    await worker.health.check();
    expect((await worker.health.ready(new AbortController().signal)).aborted).toBe(false);
  });

  it('takes none that comes when the disk is full, though no check has said so', async () => {
    using worker = scene();
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      await worker.health.ready(new AbortController().signal);
      worker.state.found = full;
      vi.advanceTimersByTime(1_000);
      expect(await worker.health.isReady()).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('a pool', () => {
  const worker = { name: 'job', uid: 'u', slot: 0, pod: 'pod', state: 'idle', current: true, busyMs: 0, guarded: false } as const;
  const conditions = (...unwell: (string | undefined)[]) => {
    const workers = unwell.map((fault, slot) => ({ ...worker, slot, unwell: fault }));
    const pool = { ...NOTHING_OBSERVED.pool, capacity: 2 };
    const [observed, decision] = [
      { ...NOTHING_OBSERVED, pool, workers },
      { ...NOTHING_DECIDED, desired: 1 },
    ];
    const said = conditionsOf(observed, decision, troubleOf(observed, decision));
    return Object.fromEntries(said.map(({ type, status, reason }) => [type, `${status} ${reason}`]));
  };
  it('of which a worker takes no orders is degraded, and serves', () =>
    expect(conditions('disk_full: no room', undefined)).toMatchObject({ Degraded: 'True WorkersUnhealthy', Ready: 'True Serving' }));
  it('of which none does is not ready', () =>
    expect(conditions('disk_full: no room')).toMatchObject({ Degraded: 'True WorkersUnhealthy', Ready: 'False WorkersUnhealthy' }));
  it('is in trouble while its back-off lasts, also while one worker tries whether it is over', () => {
    const why = { reason: 'WorkersFail', message: 'exit code 1' } as const;
    const tried = { ...NOTHING_OBSERVED, backOff: { until: 0, why }, workers: [{ ...worker, state: 'starting' }] } as const;
    expect(troubleOf({ ...tried, now: 1 }, NOTHING_DECIDED)).toBe(why);
    expect(troubleOf({ ...NOTHING_OBSERVED, now: 1 }, NOTHING_DECIDED)).toBeUndefined();
  });
  it('of which all do is as it should be', () => expect(conditions(undefined)).toMatchObject({ Degraded: 'False AsExpected' }));
});
