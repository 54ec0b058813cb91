/** Takes one step of a plan: in a warm process where the engine has one, else in a fresh one, and says in our words what went wrong. */
import type { Engine, ProcessStep, Step, StepLimits, Task, Warning } from '../catalog/engine.ts';
import { conversionFailed, type Reason } from '../errors.ts';
import type { Outcome } from '../exec/confine.ts';
import { ResidentBroken, type Residents } from '../exec/resident.ts';
import type { Toolbox } from '../exec/toolbox.ts';
import type { Slot } from '../exec/workspace.ts';

export interface StepRun {
  readonly engine: Engine;
  /** Absolute path: all that the step may write to. */
  readonly folder: string;
  readonly limits: StepLimits;
  readonly signal: AbortSignal;
  readonly onProgress: (fraction: number) => void;
}

export interface Stepper {
  /** @throws Failure `CONVERSION_FAILED` */
  run(step: ProcessStep, where: StepRun): Promise<Outcome>;
  take(step: Step, where: StepRun & { readonly task: Task }): Promise<readonly Warning[]>;
}

export function createStepper(toolbox: Toolbox, slot: Slot, residents: Residents): Stepper {
  const run = async (step: ProcessStep, { engine, folder, limits, signal, onProgress }: StepRun): Promise<Outcome> => {
    const onLine = (line: string) => {
      const fraction = step.progress?.(line);
      if (fraction !== undefined) onProgress(fraction);
    };
    const outcome = await toolbox.run(engine, step, { slot, folder, limits, signal, ...(step.progress === undefined ? {} : { onLine }) });
    if (outcome.ended === 'exit' && (step.succeeds ?? [0]).includes(outcome.code ?? -1)) return outcome;
    throw conversionFailed(whatWentWrong(engine, outcome), {
      cause: new Error(`${engine.id} ${outcome.ended} ${outcome.code ?? outcome.signal}: ${outcome.stderr.slice(-2000)}`),
    });
  };

  const take: Stepper['take'] = async (step, where) => {
    if ('run' in step) {
      await run(step, where);
      return [];
    }
    try {
      const answer = await residents.ask(
        `${where.engine.id} ${step.ask}`,
        toolbox.resolve(where.engine, step.ask),
        step.request,
        {
          input: where.task.input,
          output: where.task.output,
          ...(where.task.passwordFile === undefined ? {} : { passwordFile: where.task.passwordFile }),
        },
        { limits: where.limits, signal: where.signal, onProgress: where.onProgress },
      );
      if (!answer.ok)
        throw conversionFailed(answer.reason ?? 'corrupt_input', { details: answer.details ?? {}, cause: new Error(answer.words) });
      return answer.warnings ?? [];
    } catch (error) {
      if (!(error instanceof ResidentBroken)) throw error;
      if (error.why === 'timeout') throw conversionFailed('timeout', { cause: error });
      if (where.signal.aborted) throw conversionFailed('cancelled', { cause: error });
      // What broke may have been the resident's age and not this file: once more, in a process of its own.
      await run(step.otherwise, where);
      return [];
    }
  };
  return { run, take };
}

function whatWentWrong(engine: Engine, { ended, code, signal, stderr, stdout }: Outcome): Reason {
  switch (ended) {
    case 'time':
      return 'timeout';
    case 'memory':
      return 'memory';
    case 'output':
      return 'output_limit';
    case 'cancelled':
      return 'cancelled';
    case 'launcher':
      return 'internal';
    case 'processes':
      return 'engine_crashed';
    case 'signal':
      if (signal === 'SIGXFSZ') return 'output_limit';
      return signal === 'SIGXCPU' ? 'timeout' : 'engine_crashed';
    case 'exit':
      return engine.explain?.(`${stderr}\n${stdout.subarray(0, 4000).toString()}`, code) ?? 'corrupt_input';
  }
}
