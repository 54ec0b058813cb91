/** Which trial an engine gets, when it may blame a file, and that trials give way to orders. */
import { describe, expect, it, vi } from 'vitest';
import type { Engine } from '../../../src/catalog/engine.ts';
import { engines } from '../../../src/catalog/engines.gen.ts';
import { resolveSource } from '../../../src/catalog/sniff/sniff.ts';
import { conversionFailed } from '../../../src/errors.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { EngineBroken, isEngineBroken, LauncherFailed } from '../../../src/worker/failure.ts';
import { defectOf } from '../../../src/worker/trials/defect.ts';
import { engineStates } from '../../../src/worker/trials/engine-states.ts';
import { closestTrial, proofIn } from '../../../src/worker/trials/proof.ts';
import { startTrials } from '../../../src/worker/trials/schedule.ts';
import { slotTime } from '../../../src/worker/trials/slot-time.ts';

const byId = (id: string): Engine => engines.find((engine) => engine.id === id) as Engine;
const [sharp, heif, libreoffice] = [byId('sharp'), byId('heif'), byId('libreoffice')];
const statesNow = () => engineStates(createLog('silent'), { enginesWithdrawn: () => {} });

describe('the trial of', () => {
  it.each(engines.map((engine) => [engine.id, engine] as const))(
    '%s has a good file, and converts it in a way that is offered',
    (_, engine) => {
      expect(engine.trials.length).toBeGreaterThan(0);
      for (const { file, target } of engine.trials) {
        const bytes = Buffer.from(file.content, file.encoding);
        expect(resolveSource({ head: bytes, tail: bytes, size: bytes.length }, `a.${file.format}`, undefined).format).toBe(file.format);
        expect(bytes.length).toBeLessThan(2_100);
        const offered = engine.conversions.some((pair) => pair.source === file.format && pair.target === target);
        // An engine of a tool alone converts nothing else.
        expect(offered || engine.conversions.length === 0).toBe(true);
      }
    },
  );

  it('a conversion is that of its source, else of its target', () => {
    expect(closestTrial(heif, { source: 'heic', target: 'png' }).file.format).toBe('heic');
    expect(closestTrial(heif, { source: 'bmp', target: 'heic' }).target).toBe('heic');
    expect(closestTrial(heif, { source: 'avif', target: 'jpg' })).toBe(heif.trials[0]);
  });
});

it.each([
  [
    'cannot_load',
    conversionFailed('corrupt_input', { cause: new Error('sharp exit 1: Error: Could not load the "sharp" module using …') }),
  ],
  [
    'cannot_load',
    conversionFailed('internal', { cause: new Error('exit 127: pdftotext: error while loading shared libraries: libpoppler') }),
  ],
  ['cannot_start', conversionFailed('internal', { cause: new LauncherFailed('cannot execute') })],
  ['timeout', conversionFailed('timeout')],
  ['memory', conversionFailed('memory')],
  ['crashed', conversionFailed('engine_crashed')],
  ['wrong_output', conversionFailed('output_invalid')],
  ['failed', conversionFailed('corrupt_input')],
])('a failed trial means: %s', (defect, error) => expect(defectOf(error)).toBe(defect));

describe('an engine that fails on a file', () => {
  /** @param trialErrors of one trial after the other; undefined: it passes */
  function scene(...trialErrors: (Error | undefined)[]) {
    const states = statesNow();
    const seen = { trials: 0, renewed: 0, stamp: 'a', fault: undefined as { reason: string; message: string } | undefined };
    const proof = proofIn({
      states,
      toolbox: { stampOf: async () => seen.stamp },
      runTrial: async () => {
        const error = trialErrors[seen.trials++];
        if (error !== undefined) throw error;
      },
      renewResidents: async () => void seen.renewed++,
      machineFault: async () => seen.fault,
    });
    const signal = new AbortController().signal;
    const convert = (error?: Error) =>
      proof
        .check(sharp, { source: 'png', target: 'jpg' }, signal, async () => {
          if (error !== undefined) throw error;
        })
        .then(
          () => 'done',
          (thrown: unknown) => (isEngineBroken(thrown) ? 'broken' : thrown),
        );
    return { states, seen, convert };
  }
  const corrupt = conversionFailed('corrupt_input');

  it('may say so once it has converted a good one', async () => {
    const { seen, convert } = scene(undefined);
    expect(await convert(corrupt)).toBe(corrupt);
    // The next failure needs no proof.
    expect(await convert(corrupt)).toBe(corrupt);
    expect(seen.trials).toBe(1);
  });
  it('may say so at once just after a success', async () => {
    const { seen, convert } = scene();
    expect([await convert(), await convert(corrupt), seen.trials]).toEqual(['done', corrupt, 0]);
  });
  it('is tried again if its program was replaced since, or says that it cannot load', async () => {
    const { seen, convert } = scene(undefined, undefined);
    await convert();
    seen.stamp = 'b';
    expect([await convert(corrupt), seen.trials]).toEqual([corrupt, 1]);
    const unloadable = conversionFailed('corrupt_input', { cause: new Error('ERR_DLOPEN_FAILED') });
    expect([await convert(unloadable), seen.trials]).toEqual([unloadable, 2]);
  });
  it('is tried again once the last success is long ago', async () => {
    const { seen, convert } = scene(undefined);
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      await convert();
      vi.advanceTimersByTime(5_001);
      await convert(corrupt);
      expect(seen.trials).toBe(1);
    } finally {
      vi.useRealTimers();
    }
  });
  it('is withdrawn if it fails with new processes, too', async () => {
    const { states, seen, convert } = scene(corrupt, conversionFailed('engine_crashed'));
    expect(await convert(corrupt)).toBe('broken');
    expect([...states.withdrawn, seen.renewed]).toEqual([['sharp', 'crashed'], 1]);
    // Without another trial.
    expect([await convert(corrupt), seen.trials]).toEqual(['broken', 2]);
  });
  it('has judged nothing if only its warm process was spoilt, and stays', async () => {
    const { states, convert } = scene(corrupt, undefined);
    expect(await convert(corrupt)).toBe('broken');
    expect(states.withdrawn.size).toBe(0);
  });
  it('is not withdrawn for a fault of the machine', async () => {
    const { states, seen, convert } = scene(corrupt, corrupt);
    seen.fault = { reason: 'disk_full', message: 'no room' };
    expect(await convert(corrupt)).toBe(corrupt);
    expect(states.withdrawn.size).toBe(0);
  });
  it.each(['timeout', 'memory', 'input_limit', 'password_required'] as const)('for %s needs no proof', async (reason) => {
    const { seen, convert } = scene();
    const error = conversionFailed(reason);
    expect([await convert(error), seen.trials]).toEqual([error, 0]);
  });
});

describe('a slot', () => {
  it('ends a trial for an order, and begins none while it has one', async () => {
    const time = slotTime();
    const ended = Promise.withResolvers<void>();
    const trial = time.forTrial(async (signal) => {
      signal.addEventListener('abort', () => ended.resolve());
      await ended.promise;
      return 'ended';
    });
    const order = Promise.withResolvers<void>();
    const work = time.forOrder(() => order.promise);
    expect(await trial).toBe('ended');
    expect([time.isIdle, await time.forTrial(async () => 'begun')]).toEqual([false, undefined]);
    order.resolve();
    await work;
    expect([time.isIdle, await time.forTrial(async () => 'begun')]).toEqual([true, 'begun']);
  });
});

describe('the trials of a start', () => {
  const PACE = { first: 0, look: 1, quiet: 20, again: 20, longest: 40 };
  /** @param fails ids of engines that fail their trial */
  function scene(fails: Set<string>, isBusy = () => false) {
    const states = statesNow();
    const tried: string[] = [];
    const time = {
      ...slotTime(),
      get isIdle() {
        return !isBusy();
      },
    };
    const tryEngine = async (engine: Engine) => {
      tried.push(engine.id);
      if (fails.has(engine.id)) states.withdraw(engine, conversionFailed('corrupt_input'));
      else states.restore(engine);
      return !fails.has(engine.id);
    };
    const begin = (those: readonly Engine[], atStart = true) =>
      startTrials({
        engines: those,
        seats: [{ toolchain: 'image', time, proof: { tryEngine }, cool: async () => {} }],
        states,
        atStart,
        pace: PACE,
      });
    return { states, tried, begin };
  }
  const slow: Engine = { ...libreoffice, toolchains: ['image'] };

  it('try what is slow last, and what has converted something not at all', async () => {
    const { states, tried, begin } = scene(new Set());
    states.worked(heif);
    const trials = begin([slow, heif, sharp]);
    await trials.tried;
    trials.close();
    expect(tried).toEqual(['sharp', 'libreoffice']);
  });
  it('wait for a slot without an order', async () => {
    let busy = true;
    const { tried, begin } = scene(new Set(), () => busy);
    const trials = begin([sharp]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(tried).toEqual([]);
    busy = false;
    await trials.tried;
    trials.close();
    expect(tried).toEqual(['sharp']);
  });
  it('are repeated for what failed until it works, with longer and longer pauses', async () => {
    const fails = new Set(['heif']);
    const { states, tried, begin } = scene(fails);
    const trials = begin([heif]);
    await trials.tried;
    expect(states.withdrawn.get('heif')).toBe('failed');
    await vi.waitFor(() => expect(tried.length).toBeGreaterThan(2), { timeout: 5_000 });
    fails.clear();
    await vi.waitFor(() => expect(states.withdrawn.size).toBe(0), { timeout: 5_000 });
    trials.close();
  });
  it('are repeated at once for an engine that shares a program with one that fails', async () => {
    const fails = new Set<string>();
    const { states, begin } = scene(fails);
    const retouch = byId('imagemagick-retouch');
    const trials = begin([sharp, retouch], false);
    await trials.tried;
    fails.add('sharp').add(retouch.id);
    states.withdraw(sharp, new EngineBroken('it cannot load'));
    await vi.waitFor(() => expect([...states.withdrawn.keys()]).toEqual(['sharp', retouch.id]), { timeout: 5_000 });
    trials.close();
  });
});
