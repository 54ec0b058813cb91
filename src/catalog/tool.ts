/** The type of tools: data about one operation on files, and pure functions that plan it from the fields that were sent. */
import { Failure } from '../errors.ts';
import { MAX_FILES } from './bounds.ts';
import type { Engine, Facts, Inspection, Plan, Task } from './engine.ts';
import type { AbsentTool, ListedTool, ToolFiles } from './listed-tool.ts';
import { LONGEST_VALUE, wordsOf } from './options/fields.ts';
import type { Options } from './options/options.ts';

export interface Tool extends ListedTool {
  /** Canonical ids of the accepted formats; the content of a file decides. */
  readonly accepts: readonly string[];
  readonly files: ToolFiles;
  /** Its only source is the URL of a web page, in the field `url`, not a file. */
  readonly takesPage?: boolean;
  /** On the page, its fields are also set on the file itself: a rectangle that is drawn, what a brush paints over, or pages that are put in order. */
  readonly widget?: ToolWidget;
  /** Other names of fields, as tools beside this one call them, and the field that each stands for. */
  readonly aliases?: Readonly<Record<string, string>>;
  /**
   * Refuses invalid combinations of valid fields.
   * @throws Failure `INVALID_OPTION`
   */
  readonly check?: (input: Input) => void;
  /** Its field `password` opens a source that is encrypted. */
  readonly opensEncrypted?: boolean;
  readonly work: ByConversion | ByPlan;
  /** Tighter than those of its family. */
  readonly bounds?: FileBounds;
  /** If the result has the source's format and is not smaller, the source is delivered instead. */
  readonly neverLarger?: boolean;
  /** The results are delivered as a ZIP, even a single one. */
  readonly alwaysZip?: boolean;
  /** The result is text in the response itself; there is no output to download. */
  readonly answersText?: boolean;
  /** The result is a text, which the job shows beside its output. */
  readonly showsText?: boolean;
}

export type ToolWidget = 'crop' | 'brush' | 'pages';

export const ONE_FILE: ToolFiles = { fields: ['file'], min: 1, max: 1 };
/** The URL counts as a file. */
export const ONE_PAGE: ToolFiles = { fields: ['url'], min: 1, max: 1 };
export const SEVERAL_FILES: ToolFiles = { fields: ['files[]', 'files'], min: 2, max: MAX_FILES };

/** What one file may have at most. */
export interface FileBounds {
  readonly maxBytes?: number;
  /** Pixels of a picture, or of a frame. */
  readonly maxPixels?: number;
  readonly maxPages?: number;
  /** Length of a recording. */
  readonly maxSeconds?: number;
}

/** The parsed fields; a tool reads only what its own schema wrote. */
export type Input = Readonly<Record<string, unknown>>;

/** A conversion with options and edits, usually to the source's own format, by any engine that honours all of them. */
export interface ByConversion {
  readonly convert: (source: string, input: Input) => { readonly target: string; readonly options: Options };
}

/** A plan with commands of one engine, the first that is installed. */
export interface ByPlan {
  /** In order of preference, such as a model before a classical method. */
  readonly methods: readonly [Method, ...Method[]];
  /** Canonical id of the result's format. */
  readonly target: (sources: readonly string[], input: Input) => string;
}

export interface Method {
  /** The engine whose binaries, limits and `explain` apply. */
  readonly engine: Engine;
  /** Only where the tool's field `model` names its engine: it takes long, or draws what is not there. */
  readonly onRequest?: true;
  /** Whether it is done in time with these files; unset: always. Where `model` does not name it and it is not, the next method takes over. */
  readonly fits?: (sources: readonly ToolSource[]) => boolean;
  /** Replaces the engine's inspection. */
  readonly inspect?: Inspection;
  readonly plan: (task: ToolTask) => Plan;
}

/** What inspects its sources; undefined where nothing does. */
export const inspectionOf = ({ inspect, engine }: Method): Inspection | undefined => inspect ?? engine.inspect;

export interface ToolTask extends Omit<Task, 'input' | 'facts' | 'options' | 'source'> {
  readonly sources: readonly ToolSource[];
  readonly input: Input;
}

export interface ToolSource {
  /** Absolute path, chosen by us, with the format's extension. */
  readonly path: string;
  readonly format: string;
  readonly facts: Facts;
}

/** Converts the task of a tool with one file to the task of an engine's plan. */
export function taskOf({ sources, target, output, scratch, passwordFile }: ToolTask, options: Options = {}): Task {
  const [source] = sources;
  if (source === undefined) throw new Error('a tool without a source');
  return { source: source.format, input: source.path, facts: source.facts, target, options, output, scratch, passwordFile };
}

/** What a tool's file exports. */
export type AnyTool = Tool | AbsentTool;

/** A tool that cannot be called here, and the reason. */
export type Absent = Pick<AbsentTool, 'slug' | 'summary' | 'family' | 'reason'>;

/** @throws Failure `INVALID_OPTION` with `option`, `received` (never a password) and `allowed` */
export function readInput(
  { input, check, aliases = {} }: Pick<Tool, 'input' | 'check' | 'aliases'>,
  sentFields: ReadonlyMap<string, string>,
): Input {
  const fields = new Map(sentFields);
  for (const [alias, name] of Object.entries(aliases)) {
    const [other, own] = [fields.get(alias)?.trim(), fields.get(name)?.trim()];
    if (!other) continue;
    if (own && own !== other) throw refuseField(alias, other, `the value of ${name}, which means the same: send only one of them`);
    fields.set(name, other);
  }
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

/** @param received what was sent; undefined for a required field that is missing */
export function refuseField(option: string, received: string | undefined, allowed: string): Failure {
  const shown = received === undefined ? null : option === 'password' ? '(hidden)' : received.slice(0, 100);
  const says =
    shown === null ? `The field ${option} is missing; expected ${allowed}.` : `The field ${option} is "${shown}"; expected ${allowed}.`;
  return new Failure('INVALID_OPTION', { says, details: { option, received: shown, allowed } });
}
