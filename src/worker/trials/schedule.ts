/** Tries every engine soon after the start, in slots that hold no order, and those that failed again now and then. */
import type { Engine } from '../../catalog/engine.ts';
import type { Toolchain } from '../../contracts/toolchains.ts';
import type { EngineStates } from './engine-states.ts';
import type { Proof } from './proof.ts';
import type { SlotTime } from './slot-time.ts';

/** A slot in which engines of its toolchain can be tried. */
export interface Seat {
  readonly toolchain: Toolchain;
  readonly time: SlotTime;
  readonly proof: Pick<Proof, 'tryEngine'>;
  /** Ends the warm programs of the slot. */
  readonly cool: () => Promise<void>;
}

export interface Trials {
  /** Resolves when every engine has been tried, or has converted something, or when the trials are closed. */
  readonly tried: Promise<void>;
  close(): void;
}

export interface TrialsDeps {
  readonly engines: readonly Engine[];
  readonly seats: readonly Seat[];
  readonly states: EngineStates;
  /** Otherwise only engines that were withdrawn are tried. */
  readonly atStart: boolean;
  /** Replaces the times below, ms. */
  readonly pace?: Partial<typeof PACE>;
}

/** ms */
const PACE = {
  /** Before the first trial: a cold worker's first order has the machine for itself, and counts as a trial. */
  first: 1_000,
  /** Between two looks for an idle slot, while a trial is due. */
  look: 200,
  /** How long trials wait for a time without any order. Then an idle slot is enough: its own orders still come first. */
  quiet: 10_000,
  /** Before the first new trial of an engine that failed; each further one waits twice as long as the one before. */
  again: 10_000,
  /** The longest of these. */
  longest: 300_000,
};

export function startTrials({ engines, seats, states, atStart, pace }: TrialsDeps): Trials {
  const { first, look, quiet, again, longest } = { ...PACE, ...pace };
  const closing = Promise.withResolvers<void>();
  const tried = Promise.withResolvers<void>();
  let closed = false;
  /** An engine was withdrawn or restored. */
  let change = Promise.withResolvers<void>();
  /** @param ms `Infinity`: until a change */
  const pause = async (ms: number, { untilChange = false } = {}): Promise<void> => {
    const over = Promise.withResolvers<void>();
    const timer = Number.isFinite(ms) ? setTimeout(over.resolve, ms).unref() : undefined;
    await Promise.race([over.promise, closing.promise, ...(untilChange ? [change.promise] : [])]);
    clearTimeout(timer);
  };

  /** Slots in which a trial has left a large program, which may never be needed. */
  const warmed = new Set<Seat>();

  /** @returns undefined where that could not be found out now */
  const tryNow = async (engine: Engine, { needsQuiet }: { needsQuiet: boolean }): Promise<boolean | undefined> => {
    if (needsQuiet && !seats.every(({ time }) => time.isIdle)) return undefined;
    const seat = seats.find(({ toolchain, time }) => engine.toolchains.includes(toolchain) && time.isIdle);
    if (seat !== undefined && isSlow(engine)) warmed.add(seat);
    return await seat?.time.forTrial((signal) => seat.proof.tryEngine(engine, signal));
  };

  /** Round after round, until each engine's state is known: an engine whose slots are all busy does not keep others waiting. */
  const tryAll = async (all: readonly Engine[]): Promise<void> => {
    const until = performance.now() + quiet;
    const isKnown = (engine: Engine) => states.hasWorked(engine) || states.withdrawn.has(engine.id);
    const remaining = new Set(all);
    while (!closed && remaining.size > 0) {
      for (const engine of remaining) {
        if (closed) return;
        if (isKnown(engine) || (await tryNow(engine, { needsQuiet: performance.now() < until })) !== undefined) remaining.delete(engine);
      }
      if (remaining.size > 0) await pause(look);
    }
  };

  const seated = engines.filter(({ toolchains }) => seats.some(({ toolchain }) => toolchains.includes(toolchain)));

  /** Engines that share a program with one that has failed or recovered: they may have, too. */
  const suspects = new Set<Engine>();
  states.onChange((changed) => {
    const isWithdrawn = states.withdrawn.has(changed.id);
    for (const engine of seated) if (states.withdrawn.has(engine.id) !== isWithdrawn && shareProgram(engine, changed)) suspects.add(engine);
    change.resolve();
  });
  const trySuspects = async (): Promise<void> => {
    for (const engine of suspects) {
      if (closed) return;
      if ((await tryNow(engine, { needsQuiet: false })) !== undefined) suspects.delete(engine);
    }
  };

  /** By engine id: when it is tried again, and the pause before that. */
  const retries = new Map<string, { readonly at: number; readonly afterMs: number }>();
  /** @returns when the next is due, ms from now; `Infinity`: no engine is withdrawn */
  const retryDue = async (): Promise<number> => {
    for (const id of retries.keys()) if (!states.withdrawn.has(id)) retries.delete(id);
    let dueAt = Number.POSITIVE_INFINITY;
    for (const engine of engines) {
      if (closed || !states.withdrawn.has(engine.id)) continue;
      let next = retries.get(engine.id) ?? { at: performance.now() + again, afterMs: again };
      if (performance.now() >= next.at && (await tryNow(engine, { needsQuiet: false })) !== undefined) {
        const afterMs = Math.min(longest, next.afterMs * 2);
        next = { at: performance.now() + afterMs, afterMs };
      }
      retries.set(engine.id, next);
      dueAt = Math.min(dueAt, next.at);
    }
    return dueAt - performance.now();
  };

  void (async () => {
    if (atStart) {
      await pause(first);
      await tryAll([...seated.filter((engine) => !isSlow(engine)), ...seated.filter(isSlow)]);
    }
    await trySuspects();
    for (const { time, cool } of warmed) await time.forTrial(cool);
    tried.resolve();
    while (!closed) {
      change = Promise.withResolvers();
      await trySuspects();
      const dueMs = await retryDue();
      await pause(suspects.size > 0 ? look : Math.max(look, dueMs), { untilChange: true });
    }
  })();

  return {
    tried: tried.promise,
    close() {
      closed = true;
      closing.resolve();
    },
  };
}

const isSlow = ({ trials }: Engine): boolean => trials.some(({ slow }) => slow);

function shareProgram(one: Engine, other: Engine): boolean {
  const programs = new Set(programsOf(other));
  return programsOf(one).some((program) => programs.has(program));
}

const programsOf = ({ binaries }: Engine): readonly string[] => Object.values(binaries).flatMap(({ at }) => at);
