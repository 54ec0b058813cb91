/** What a tool is: data about one operation on files, and pure functions from what was sent to how it is done. */
import type { z } from 'zod';
import { Failure } from '../errors.ts';
import type { Engine, Facts, Inspection, Plan, Task } from './engine.ts';
import { LONGEST_VALUE } from './options/fields.ts';
import type { Options } from './options/options.ts';

export type ToolFamily = 'image' | 'audio_video' | 'pdf' | 'ai';

export interface Tool {
  /** As in `/api/v1/tools/{slug}`. */
  readonly slug: string;
  /** One sentence: what it does, for people and assistants. */
  readonly summary: string;
  readonly family: ToolFamily;
  /** Canonical ids of the formats it takes; a file of another kind is refused by its content. */
  readonly accepts: readonly string[];
  readonly files: Files;
  /** Its one source is no file but a text that says where a web page is: the field `url`. */
  readonly takesPage?: boolean;
  /**
   * Fields beside the files, flat. Forms send text: every schema starts from a string, and its description is what a refused client reads
   * as `allowed`.
   */
  readonly input: z.ZodObject<Readonly<Record<string, z.ZodType>>>;
  /**
   * Says no to a combination of fields, each of which is right by itself.
   * @throws Failure `INVALID_OPTION`
   */
  readonly check?: (input: Input) => void;
  readonly work: ByConversion | ByPlan;
  /** A result of the source's own format that is not smaller is thrown away for the source. */
  readonly neverLarger?: boolean;
  /** The results come in a ZIP, were there only one. */
  readonly alwaysZip?: boolean;
  /** The result is a text, which stands in the answer itself; there is no output to fetch. */
  readonly answersText?: boolean;
}

/** Which form fields the files come in, and how many of them. */
export interface Files {
  readonly fields: readonly string[];
  readonly min: number;
  readonly max: number;
  /** Of all together; the limit of one file holds as well. */
  readonly totalBytes?: number;
}

export const ONE_FILE: Files = { fields: ['file'], min: 1, max: 1 };
/** The URL stands for a file. */
export const ONE_PAGE: Files = { fields: ['url'], min: 1, max: 1 };
export const SEVERAL_FILES: Files = { fields: ['files[]', 'files'], min: 2, max: 20 };

/** What the schema made of the fields; a tool reads back only what its own schema wrote. */
export type Input = Readonly<Record<string, unknown>>;

/** A conversion, to the source's own format as a rule, with options and edits set: any engine that honours them all may do it. */
export interface ByConversion {
  readonly convert: (source: string, input: Input) => { readonly target: string; readonly options: Options };
}

/** Commands of one engine's programs. */
export interface ByPlan {
  /** Whose binaries, limits and explanations hold. */
  readonly engine: Engine;
  /** Instead of the engine's own. */
  readonly inspect?: Inspection;
  /** Canonical id of what comes out. */
  readonly target: (sources: readonly string[], input: Input) => string;
  readonly plan: (task: ToolTask) => Plan;
}

export interface ToolTask extends Omit<Task, 'input' | 'facts' | 'options' | 'source'> {
  readonly sources: readonly ToolSource[];
  readonly input: Input;
}

export interface ToolSource {
  /** Absolute path, named by us, with the format's extension. */
  readonly path: string;
  readonly format: string;
  readonly facts: Facts;
}

/** Listed, but not there: why, in a sentence. */
export interface Absent {
  readonly slug: string;
  readonly summary: string;
  readonly family: ToolFamily;
  readonly reason: string;
}

/** @throws Failure `INVALID_OPTION` with `option`, `received` (never a password) and `allowed` */
export function readInput({ input, check }: Pick<Tool, 'input' | 'check'>, fields: ReadonlyMap<string, string>): Input {
  const given = Object.keys(input.shape).flatMap((name) => {
    const sent = fields.get(name);
    if (sent !== undefined && sent.length > LONGEST_VALUE) throw refuseField(name, sent, wordsOf(input.shape[name]));
    // A password may begin or end with a space.
    const value = name === 'password' ? sent : sent?.trim();
    return value === undefined || value === '' ? [] : [[name, value] as const];
  });
  const read = input.safeParse(Object.fromEntries(given));
  if (!read.success) {
    const name = String(read.error.issues[0]?.path[0] ?? '');
    throw refuseField(name, fields.get(name)?.trim() || undefined, wordsOf(input.shape[name]) || (read.error.issues[0]?.message ?? ''));
  }
  check?.(read.data);
  return read.data;
}

/** What a field takes, in words: of a schema, whether or not it may be left out. */
export function wordsOf(schema: z.ZodType | undefined): string {
  if (schema === undefined) return '';
  const inner = 'unwrap' in schema ? (schema.unwrap as () => z.ZodType)() : undefined;
  return schema.description ?? wordsOf(inner);
}

/** @param received what was sent; undefined where the field is needed and was not */
export function refuseField(option: string, received: string | undefined, allowed: string): Failure {
  const shown = received === undefined ? null : option === 'password' ? '(hidden)' : received.slice(0, 100);
  const says =
    shown === null ? `The field ${option} is needed; it takes ${allowed}.` : `The field ${option} is "${shown}"; it takes ${allowed}.`;
  return new Failure('INVALID_OPTION', { says, details: { option, received: shown, allowed } });
}
