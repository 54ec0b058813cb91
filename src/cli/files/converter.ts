/** Who converts files for the command line: this process, or a server. */
import type { Fidelity } from '../../contracts/api/job.ts';
import type { JobRecord } from '../../jobs/record.ts';

export interface LocalFile {
  /** Where it can be read. */
  readonly path: string;
  /** The file's own name, without folders. */
  readonly name: string;
}

/** What the first file will probably need, by its name: its content is judged later. Canonical format ids. */
export interface LikelyWork {
  readonly source: string;
  readonly target: string;
}

/** One job. */
export interface FilesJob {
  readonly sources: readonly LocalFile[];
  /** Slug; undefined: a conversion. */
  readonly tool: string | undefined;
  /** The text of a recipe, or the name of one that a server has; unset: none. */
  readonly recipe?: string | undefined;
  /** By the names of the API's form. */
  readonly fields: ReadonlyMap<string, string>;
}

export interface Delivered {
  /** As the API would name it. */
  readonly filename: string;
  /** Writes it to a path where nothing is yet. */
  readonly fill: (path: string | Buffer) => Promise<void>;
}

export interface FilesContext {
  readonly signal: AbortSignal;
  /** @param fraction 0 to 1 */
  readonly onProgress: (fraction: number) => void;
  /** Called before a wait that a server has asked for, or that a lost connection needs. */
  readonly onWait: (seconds: number, why: string) => void;
  /** Called for each output of a recipe. @returns where it was written */
  readonly deliver: (result: Delivered) => Promise<string>;
}

export interface ConvertedFile {
  readonly output: string;
  readonly warnings: JobRecord['warnings'];
  readonly engine: JobRecord['engine'];
  /** Undefined for kinds of files that are not measured. */
  readonly fidelity: Fidelity | undefined;
}

/** What a job would do. */
export interface Explained {
  /** Formats of the sources, and of the result where it is known before. */
  readonly sources: readonly string[];
  readonly target: string | undefined;
  readonly engines: readonly { readonly name: string; readonly version: string }[];
  readonly warnings: JobRecord['warnings'];
}

export interface Converter {
  /** Jobs at a time. */
  readonly atOnce: number;
  /** @throws Failure · ServerRefusal · what `deliver` throws */
  convert(job: FilesJob, context: FilesContext): Promise<ConvertedFile>;
  /** Looks at the files here, and sends none. @throws Failure · ServerRefusal */
  explain(job: FilesJob, signal: AbortSignal): Promise<Explained>;
  /** Leaves nothing behind. */
  close(): Promise<void>;
}

/** The command line is wrong: told with the usage, and exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
