/** An engine may say that a file is at fault only if it has just converted a known good file, in the same slot and with the same programs. */
import type { Engine, Trial } from '../../catalog/engine.ts';
import type { Fault } from '../../contracts/messages/fault.ts';
import { conversionFailed, Failure } from '../../errors.ts';
import type { Toolbox } from '../../exec/toolbox.ts';
import { EngineBroken } from '../failure.ts';
import { cannotLoad } from './defect.ts';
import type { EngineStates } from './engine-states.ts';

export interface Way {
  /** Canonical ids. */
  readonly source: string;
  readonly target: string;
}

export interface Proof {
  /**
   * Runs `work`, one engine's part of a conversion. If it fails in a way that blames the file, the engine has to prove itself.
   * @throws what `work` throws; if the engine fails its trial, a Failure `internal` whose cause is EngineBroken
   */
  check<T>(engine: Engine, way: Way, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /**
   * Puts an engine through all its trials: it is withdrawn if it fails, and restored if it passes.
   * @returns undefined if that could not be found out: the signal was aborted, or the machine is at fault
   */
  tryEngine(engine: Engine, signal: AbortSignal): Promise<boolean | undefined>;
}

export interface ProofDeps {
  /** One trial in this slot. @throws what the conversion throws */
  readonly runTrial: (engine: Engine, trial: Trial, signal: AbortSignal) => Promise<void>;
  readonly states: EngineStates;
  readonly toolbox: Pick<Toolbox, 'stampOf'>;
  /** Replaces the warm programs of this slot: an earlier file may have spoilt one. */
  readonly renewResidents: () => Promise<void>;
  /** What is wrong with the machine itself: then no engine is to blame. */
  readonly machineFault: () => Promise<Fault | undefined>;
}

/** A success proves the engine for so long, ms: files that fail one after the other cost one trial. */
const PROVED_MS = 5_000;
/** Reasons that blame the file, or a program that is not there: an engine that does not work gives them too. */
const BLAMING: ReadonlySet<unknown> = new Set([
  'corrupt_input',
  'engine_crashed',
  'output_invalid',
  'no_stream',
  'engine_missing',
  'internal',
]);

export function proofIn({ runTrial, states, toolbox, renewResidents, machineFault }: ProofDeps): Proof {
  /** By engine and trial: the last success in this slot, and which programs had it. */
  const successes = new Map<string, { readonly at: number; readonly stamp: Promise<string> }>();

  const keyOf = ({ id }: Engine, { file, target }: Trial): string => `${id} ${file.format} ${target}`;
  const noteSuccess = (engine: Engine, trial: Trial): void => {
    states.worked(engine);
    successes.set(keyOf(engine, trial), { at: performance.now(), stamp: toolbox.stampOf(engine) });
  };
  const hasJustSucceeded = async (engine: Engine, trial: Trial): Promise<boolean> => {
    const last = successes.get(keyOf(engine, trial));
    if (last === undefined || performance.now() - last.at > PROVED_MS) return false;
    return (await last.stamp) === (await toolbox.stampOf(engine));
  };

  /** @returns `stale`: only with new processes @throws what the trial throws */
  const prove = async (engine: Engine, trial: Trial, signal: AbortSignal): Promise<'works' | 'stale'> => {
    try {
      await runTrial(engine, trial, signal);
      noteSuccess(engine, trial);
      return 'works';
    } catch (error) {
      if (signal.aborted) throw error;
    }
    await renewResidents();
    await runTrial(engine, trial, signal);
    noteSuccess(engine, trial);
    return 'stale';
  };

  /** @returns undefined if the engine is not to blame for the error of its trial */
  const withdraw = async (engine: Engine, error: unknown, signal: AbortSignal): Promise<false | undefined> => {
    if (signal.aborted || (await machineFault()) !== undefined) return undefined;
    states.withdraw(engine, error);
    return false;
  };

  return {
    async check(engine, way, signal, work) {
      const trial = closestTrial(engine, way);
      try {
        const result = await work();
        noteSuccess(engine, trial);
        return result;
      } catch (error) {
        if (signal.aborted || !blamesFile(error)) throw error;
        const broken = conversionFailed('internal', {
          cause: new EngineBroken(`${engine.id} has failed its trial, too`, { cause: error }),
        });
        if (states.withdrawn.has(engine.id)) throw broken;
        if (!cannotLoad(error) && (await hasJustSucceeded(engine, trial))) throw error;
        const found = await prove(engine, trial, signal).catch((failed: unknown) => withdraw(engine, failed, signal));
        // A spoilt process was replaced: the next try shows whether the file is at fault.
        throw found === 'stale' || found === false ? broken : error;
      }
    },

    async tryEngine(engine, signal) {
      try {
        for (const trial of engine.trials) await prove(engine, trial, signal);
        states.restore(engine);
        return true;
      } catch (error) {
        return withdraw(engine, error, signal);
      }
    },
  };
}

/** The trial that shares most with a conversion: the reader of its source, else the writer of its target. */
export function closestTrial({ trials }: Engine, { source, target }: Way): Trial {
  return trials.find(({ file }) => file.format === source) ?? trials.find((trial) => trial.target === target) ?? trials[0];
}

const blamesFile = (error: unknown): boolean =>
  error instanceof Failure && error.code === 'CONVERSION_FAILED' && BLAMING.has(error.details['reason']);
