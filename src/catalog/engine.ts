/** What an engine is: data about a converter, and pure functions from an order to the commands that carry it out. */
import type { EngineRole, Toolchain } from '../contracts/toolchains.ts';
import type { OptionMisfit, Reason } from '../errors.ts';
import type { KnownGood } from './known-good.ts';
import type { OptionName, Options } from './options/options.ts';

export interface Engine {
  readonly id: string;
  /** As clients read it, in a job's `engine.name`. */
  readonly name: string;
  /** Under which health shows its version. */
  readonly role: EngineRole;
  /** Every toolchain whose image has this engine's binaries. */
  readonly toolchains: readonly Toolchain[];
  /** The first is the one whose version is the engine's. All must be there, or the engine is missing. */
  readonly binaries: Readonly<Record<string, Binary>>;
  readonly conversions: readonly Conversion[];
  /** What shows whether it works here. Together they start every program that its plan starts. */
  readonly trials: readonly [Trial, ...Trial[]];
  /** Options that change this engine's result, by target where they differ. */
  readonly options: (source: string, target: string) => readonly OptionName[];
  /** Sources that it reads as UTF-8 alone: of a file in another encoding it gets a copy in UTF-8, and needs the binary `utf8`. */
  readonly readsUtf8?: ReadonlySet<string>;
  /** The longest side of a picture that its programs open, px: a longer one is refused before they see it. */
  readonly longestSide?: number;
  /** Inspects the input before planning, and checks bounds. */
  readonly inspect?: Inspection;
  /** What it reads for receipts of files of these formats, whatever converts them, beyond what the judge reads. */
  readonly measures?: Measuring;
  /**
   * Refuses options that no file could make valid, before anything is stored or queued.
   * @throws Failure `INVALID_OPTION`
   */
  readonly refuse?: (source: string, target: string, options: Options) => void;
  readonly plan: (task: Task) => Plan;
  /** Maps a failed command's output to a reason; undefined: `corrupt_input`. */
  readonly explain?: (output: string, code: number | null) => Reason | undefined;
  readonly limits?: Partial<StepLimits>;
}

/** Ids of the models that it needs. Not every installation has them: without one, the engine is not there, and nothing is missing. */
export const modelsOf = ({ binaries }: Pick<Engine, 'binaries'>): readonly string[] =>
  Object.values(binaries).flatMap(({ models = [] }) => models);
/** Those, and the ones that it uses where they are installed. */
export const modelsUsedBy = ({ binaries }: Pick<Engine, 'binaries'>): readonly string[] =>
  Object.values(binaries).flatMap(({ models = [], helpers = [] }) => [...models, ...helpers]);

export interface Binary {
  /**
   * Absolute paths in order of preference; our own programs are `program:<file in exec/programs>`,
   * and `native:<program that scripts/build-native builds>`.
   */
  readonly at: readonly string[];
  /** How its version is read, and whether it can be forked here. Only the first binary of an engine needs it. */
  readonly version?: { readonly args: readonly string[]; readonly pattern: RegExp; readonly forks?: RegExp };
  /** It uses Unix sockets inside its own folder (LibreOffice). */
  readonly unixSockets?: boolean;
  /** It runs on between requests: where one is likely to come, it may be started before. */
  readonly resident?: true;
  /** It serves each request by a process that it forks: a limit that is exceeded ends that one first. */
  readonly forkServer?: boolean;
  /** It connects to the Internet, only through the egress proxy, whose port is passed as `--proxy=PORT` before the step's arguments. */
  readonly egress?: boolean;
  /** Another of the engine's binaries, listed before it, that it starts itself: passed as `--NAME=PATH` before the step's arguments. */
  readonly starts?: string;
  /**
   * Ids of models of `models/manifest.yaml`: each folder is passed as `--ID=FOLDER` before the step's arguments. Without one, the engine is not there.
   * A resident program with models ends when it is idle for some time, and before another one of the same slot starts: models are large.
   */
  readonly models?: readonly string[];
  /** Ids of models that make its results better: passed in the same way where they are installed, and not missed where they are not. */
  readonly helpers?: readonly string[];
  /** Further paths that it may read, besides the system's. */
  readonly reads?: readonly string[];
}

export interface Conversion {
  readonly source: string;
  readonly target: string;
  /** 0 to 100: how good this engine is at it. 90 native and faithful, 70 good, 50 usable, 30 a last resort. */
  readonly rank: number;
  /** What the result lacks, reported to the client as a warning `lossy`. */
  readonly loses?: readonly string[];
}

/** A conversion of a known good file, which fails only where the engine does not work. */
export interface Trial {
  readonly file: KnownGood;
  readonly target: string;
  /** A second or more: tried after all others. */
  readonly slow?: true;
}

export interface Inspection {
  /** The formats that are inspected; unset: all. */
  readonly sources?: ReadonlySet<string>;
  /** Formats whose results are inspected in the same way, for the job's receipt. */
  readonly results?: ReadonlySet<string>;
  readonly step: (input: string, task: Pick<Task, 'source' | 'target' | 'options' | 'passwordFile'>) => ProcessStep;
  /** @throws Failure `CONVERSION_FAILED` if the input exceeds a bound or is damaged */
  readonly read: (stdout: string, task: Pick<Task, 'source' | 'target' | 'options'>) => Facts;
}

export interface Measuring {
  readonly formats: ReadonlySet<string>;
  readonly step: (input: string) => ProcessStep;
  /** @returns facts beside those of the judge */
  readonly read: (stdout: string) => Facts;
}

export const isInspected = ({ sources }: Inspection, source: string): boolean => sources?.has(source) ?? true;

/** The results of an inspection; each engine reads only what it wrote. */
export type Facts = Readonly<Record<string, unknown>>;

export interface Task {
  /** Canonical format ids. */
  readonly source: string;
  readonly target: string;
  readonly options: Options;
  /** Absolute path, chosen by us, with the source's extension. */
  readonly input: string;
  /** Absolute path of an empty folder: everything in it when the plan ends is the result, in natural order of the names. */
  readonly output: string;
  /** Absolute path of a folder for intermediate files. */
  readonly scratch: string;
  /** Absolute path of a file with the password of the source, one line without newline; undefined where none was sent. */
  readonly passwordFile: string | undefined;
  readonly facts: Facts;
}

/** What an encoder takes for a picture of so many pixels. */
export interface MemoryNeed {
  /** Id of the format that is encoded. */
  readonly target: string;
  readonly pixels: number;
  /** What it takes for each, bytes. */
  readonly bytesOfPixel: number;
}

export interface Plan {
  readonly steps: readonly Step[];
  readonly warnings?: readonly EngineWarning[];
  /** Refused before the first step, where the conversion may not have so much. */
  readonly needs?: MemoryNeed | undefined;
  /** Where only what the steps have made shows how to go on. */
  readonly next?: NextPlan;
}

export interface NextPlan {
  /** Looks at what was made. */
  readonly look: ProcessStep;
  /** Whether `plan` gets the end of its standard error; unset: its standard output. */
  readonly onStderr?: true;
  /** @param said by it @throws Failure `CONVERSION_FAILED` */
  readonly plan: (said: string) => Plan;
}

export interface EngineWarning {
  readonly code: string;
  readonly message: string;
}

export type Step = ProcessStep | ResidentStep | ConversationStep;

export interface ProcessStep {
  /** A key of the engine's `binaries`. */
  readonly run: string;
  readonly args: readonly string[];
  readonly stdin?: string;
  /** Exit codes that mean success; 0 unless said otherwise. */
  readonly succeeds?: readonly number[];
  /** Progress from 0 to 1, read from a line of output; undefined for other lines. */
  readonly progress?: (line: string) => number | undefined;
  /** Path of a file that standard output is written to, at most 64 MiB. */
  readonly stdoutTo?: string;
  /** Our own program, whose last line is an answer as residents give: its warnings become the job's. */
  readonly answers?: true;
}

/** A request to a resident program. Paths in the request are the task's, or `input`: they are replaced by those in the resident's folder. */
export interface ResidentStep {
  /** A key of the engine's `binaries`. The program reads one line of JSON per request, and answers with one or more. */
  readonly ask: string;
  readonly request: Readonly<Record<string, unknown>>;
  /** The file that it reads, where an earlier step wrote it; unset: the task's. */
  readonly input?: string;
  /** One more file that it reads, which an earlier step wrote. */
  readonly beside?: string | undefined;
  /** The empty folder for what it writes, where a later step reads it; unset: the task's. It need not exist. */
  readonly output?: string;
  /** The same conversion without a resident. */
  readonly otherwise: ProcessStep;
}

/**
 * A conversation with a resident program that serves each one in a separate process, which it has forked before: what a picture does to that
 * process ends with it. The decisions between two operations are ours, and pure.
 */
export interface ConversationStep {
  /** A key of the engine's `binaries`. */
  readonly talk: string;
  /** @param at tells where the program finds the input, or a path in the output folder @param memoryBytes what the process may have */
  readonly conversation: (at: (path: string) => string, memoryBytes: number) => Conversation;
  /** The file that it reads, where an earlier step wrote it; unset: the task's. */
  readonly input?: string;
  /** One more file that it reads, which an earlier step wrote. */
  readonly beside?: string;
  /** The folder for what it writes, where a later step reads it; unset: the task's. */
  readonly output?: string;
}

/** Yields lines for the program, is given its reply to each, and returns what came of it. */
export type Conversation = Generator<string, ProgramAnswer, string>;

/** What came of one request. `words` is the program's own message, for logs; clients may see `says`, `details`, `misfit` and `warnings`. */
export interface ProgramAnswer {
  readonly ok: boolean;
  readonly reason?: Reason;
  readonly words?: string;
  /** Details of `input_limit`, and of `memory` where it was known before. */
  readonly details?: { readonly limit: string; readonly received: number; readonly max?: number; readonly min?: number };
  /** Replaces the sentence of these. */
  readonly says?: string;
  /** Details of `invalid_option`. */
  readonly misfit?: OptionMisfit;
  readonly warnings?: readonly EngineWarning[];
  /** Why the processor did the work, although the slot has a device for it. */
  readonly deviceRefused?: string;
}

/** Bounds of one command. Bytes, seconds of CPU, ms of wall clock. */
export interface StepLimits {
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
  readonly fileBytes: number;
  readonly folderBytes: number;
  readonly processes: number;
  readonly wallMs: number;
}

/** Every source to every target, except a format to itself. */
export function everyPair(
  sources: readonly string[],
  targets: readonly string[],
  quality: Omit<Conversion, 'source' | 'target'>,
): Conversion[] {
  return sources.flatMap((source) => targets.filter((target) => target !== source).map((target) => ({ source, target, ...quality })));
}
