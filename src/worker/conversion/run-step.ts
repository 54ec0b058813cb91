/** Runs one step of a plan, in a resident process where the engine has one, else in a new one, and maps failures to reasons of the API. */
import type { ConversationStep, Engine, EngineWarning, ProcessStep, ResidentStep, Step, StepLimits, Task } from '../../catalog/engine.ts';
import { noticedBy } from '../../catalog/planning/noticed.ts';
import { saysOutOfMemory } from '../../catalog/planning/out-of-memory.ts';
import { conversionFailed, type Failure, inputLimit, misfit, type Reason } from '../../errors.ts';
import type { ProcessOutcome } from '../../exec/confine/policy.ts';
import type { Slot } from '../../exec/files/workspace.ts';
import { LONGEST_LINE, lastAnswer, type ProgramAnswer } from '../../exec/residents/messages.ts';
import { type BreakReason, ResidentBroken } from '../../exec/residents/process.ts';
import type { Residents } from '../../exec/residents/residents.ts';
import type { Toolbox } from '../../exec/toolbox.ts';
import type { EgressProxy } from '../../fetch/pages/proxy.ts';
import type { Judge } from '../../judge/judge.ts';
import { LauncherFailed } from '../failure.ts';
import { residentKey } from '../slot.ts';

export interface StepRun {
  readonly engine: Engine;
  /** Absolute path of the only folder that the step may write to. */
  readonly folder: string;
  readonly limits: StepLimits;
  readonly signal: AbortSignal;
  readonly onProgress: (fraction: number) => void;
}

/** The files that are moved into a resident's folder. */
type TaskFiles = Pick<Task, 'input' | 'output' | 'passwordFile'>;

export interface Stepper {
  /** @throws Failure `CONVERSION_FAILED` */
  run(step: ProcessStep, where: StepRun): Promise<ProcessOutcome>;
  runStep(step: Step, where: StepRun & { readonly task: TaskFiles }): Promise<readonly EngineWarning[]>;
}

export interface StepperDeps {
  readonly toolbox: Toolbox;
  readonly slot: Slot;
  readonly residents: Residents;
  readonly judge: Pick<Judge, 'reasonOf'>;
  /** This slot's proxy for programs that reach the Internet: it is open only while such a program serves a request. */
  readonly egressProxy?: EgressProxy | undefined;
  /** A program could not use the slot's device, and the processor did its work. */
  readonly onDeviceRefused?: (why: string) => void;
}

export function createStepper({ toolbox, slot, residents, judge, egressProxy, onDeviceRefused }: StepperDeps): Stepper {
  const start = async (step: ProcessStep, { engine, folder, limits, signal, onProgress }: StepRun): Promise<ProcessOutcome> => {
    const onLine = (line: string) => {
      const fraction = step.progress?.(line);
      if (fraction !== undefined) onProgress(fraction);
    };
    const where = { slot, folder, limits, signal, proxyPort: egressProxy?.port };
    return toolbox.run(engine, step, { ...where, ...(step.progress === undefined ? {} : { onLine }) });
  };

  const run: Stepper['run'] = async (step, where) => {
    const outcome = await start(step, where);
    if (hasSucceeded(step, outcome)) return outcome;
    throw await failureOf(judge, where, outcome);
  };

  /** Runs a resident's request in a new process. */
  const runOnce = async (step: ProcessStep, where: StepRun): Promise<ProgramAnswer> => {
    const outcome = await start(step, where);
    const answer = outcome.ended === 'exit' ? lastAnswer(outcome.stdout.toString()) : undefined;
    if (answer === undefined || (answer.ok && !hasSucceeded(step, outcome))) throw await failureOf(judge, where, outcome);
    return answer;
  };

  const ask = async (step: ResidentStep, where: StepRun & { readonly task: TaskFiles }): Promise<ProgramAnswer> => {
    const { engine, limits, signal, onProgress } = where;
    const { passwordFile } = where.task;
    const { input = where.task.input, output = where.task.output, beside } = step;
    const files = { input, output, ...(beside !== undefined && { beside }), ...(passwordFile !== undefined && { passwordFile }) };
    const program = toolbox.resolve(engine, step.ask, egressProxy?.port);
    const key = `${residentKey(engine, step.ask)}${program.egress ? ' online' : ''}`;
    const inNewProcess = (error: ResidentBroken) => {
      const exceeded = BROKEN[error.why];
      // This file alone exceeded the limit, in a separate process.
      if (error.wasFresh && exceeded !== undefined) throw conversionFailed(exceeded, { cause: error });
      // The resident's age may have broken it, and not this file.
      return runOnce(step.otherwise, where);
    };
    return residents.ask(key, program, step.request, files, { limits, signal, onProgress }).catch(orFail(signal, inNewProcess));
  };

  /** Each conversation has a new process. If it breaks, the program that forks these is replaced, and asked once more. */
  const talk = async (step: ConversationStep, where: StepRun & { readonly task: TaskFiles }): Promise<ProgramAnswer> => {
    const { engine, task, limits, signal } = where;
    const { input = task.input, output = task.output, beside } = step;
    const files = { input, output, ...(beside === undefined ? {} : { beside }) };
    const once = () =>
      residents.ask(residentKey(engine, step.talk), toolbox.resolve(engine, step.talk), step.conversation, files, { limits, signal });
    return once().catch(orFail(signal, once)).catch(orFail(signal));
  };

  return {
    run,
    async runStep(step, where) {
      if ('run' in step) {
        const outcome = await run(step, where);
        return [...noticedBy(outcome.stderr), ...((step.answers === undefined ? undefined : answerIn(outcome)?.warnings) ?? [])];
      }
      if ('talk' in step) {
        const answer = await talk(step, where);
        if (answer.ok) return answer.warnings ?? [];
        throw refusalOf(answer, []);
      }
      const tunnel = toolbox.resolve(where.engine, step.ask).egress ? egressProxy?.open() : undefined;
      try {
        const answer = await ask(step, where);
        if (answer.deviceRefused !== undefined) onDeviceRefused?.(answer.deviceRefused);
        if (answer.ok) return answer.warnings ?? [];
        throw tunnel?.outage !== undefined && answer.reason === 'page_unreachable'
          ? conversionFailed('internal', { cause: tunnel.outage })
          : refusalOf(answer, [...(tunnel?.refused ?? [])]);
      } finally {
        tunnel?.close();
      }
    },
  };
}

/** Why no answer came; `again` where another try is worthwhile. @throws Failure */
const orFail =
  (signal: AbortSignal, again?: (error: ResidentBroken) => Promise<ProgramAnswer>) =>
  (error: unknown): Promise<ProgramAnswer> => {
    if (!(error instanceof ResidentBroken)) throw error;
    if (error.why === 'timeout') throw conversionFailed('timeout', { cause: error });
    if (signal.aborted) throw conversionFailed('cancelled', { cause: error });
    if (again !== undefined) return again(error);
    // A program that does not start has read no file.
    if (error.why === 'start') throw conversionFailed('internal', { cause: new LauncherFailed(error.message, { cause: error }) });
    throw conversionFailed(BROKEN[error.why] ?? 'engine_crashed', { cause: error });
  };

const BROKEN: Partial<Readonly<Record<BreakReason, Reason>>> = { memory: 'memory', output: 'output_limit' };

const hasSucceeded = ({ succeeds = [0] }: ProcessStep, { ended, code }: ProcessOutcome): boolean =>
  ended === 'exit' && succeeds.includes(code ?? -1);

/** @param refused why the proxy refused connections */
function refusalOf(answer: ProgramAnswer, refused: readonly string[]): Failure {
  const { words = '', says, details, misfit: asked } = answer;
  const { reason: given = 'corrupt_input' } = answer;
  const reason = given === 'corrupt_input' && saysOutOfMemory(words) ? 'memory' : given;
  if (reason === 'page_unreachable') return conversionFailed(reason, { details: { refused }, cause: new Error(words) });
  if (reason === 'invalid_option') return asked === undefined ? conversionFailed('internal', { cause: new Error(words) }) : misfit(asked);
  if (reason === 'input_limit' && details?.max !== undefined) return inputLimit(details.limit, details.max, details.received, says);
  return conversionFailed(reason, { ...(says === undefined ? {} : { says }), details: details ?? {}, cause: new Error(words) });
}

async function failureOf(judge: StepperDeps['judge'], { engine, limits }: StepRun, outcome: ProcessOutcome): Promise<Failure> {
  const message = `${engine.id} ${outcome.ended} ${outcome.code ?? outcome.signal}: ${outcome.stderr.slice(-2000)}`;
  const cause = outcome.ended === 'launcher' ? new LauncherFailed(message) : new Error(message);
  const reason = await reasonFor(judge, engine, outcome, limits);
  // One of our own programs: its answer has the details.
  const answer = SAYS_MORE.has(reason) ? answerIn(outcome) : undefined;
  return answer?.reason === reason ? refusalOf(answer, []) : conversionFailed(reason, { cause });
}

/** Reasons with details that only the program knows. */
const SAYS_MORE: ReadonlySet<Reason> = new Set([
  'corrupt_input',
  'invalid_option',
  'input_limit',
  'no_stream',
  'unsupported_variant',
  'model_not_installed',
]);

const answerIn = ({ stdout }: ProcessOutcome): ProgramAnswer | undefined => lastAnswer(stdout.subarray(-LONGEST_LINE).toString());

/** A program that had used this share of its memory when it failed, and does not say why, is taken to have run out of memory. */
const STARVED = 7 / 8;

async function reasonFor(
  judge: StepperDeps['judge'],
  engine: Engine,
  outcome: ProcessOutcome,
  { memoryBytes }: Pick<StepLimits, 'memoryBytes'>,
): Promise<Reason> {
  const { ended, code, signal, stderr, stdout } = outcome;
  const isStarved = outcome.peakBytes > memoryBytes * STARVED;
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
      if (signal === 'SIGXCPU') return 'timeout';
      return isStarved || saysOutOfMemory(stderr) ? 'memory' : 'engine_crashed';
    case 'exit':
      return (
        (await judge.reasonOf(engine.id, `${stderr}\n${stdout.subarray(0, 4000).toString()}`, code)) ??
        (isStarved ? 'memory' : 'corrupt_input')
      );
  }
}
