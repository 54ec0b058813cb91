/** Turns a call's arguments into the fields of a REST form, so that the same code validates both. */
import { meantName } from '../../../catalog/options/meant.ts';
import { asText } from '../../../contracts/json.ts';
import { Failure } from '../../../errors.ts';
import type { JobRecord } from '../../../jobs/record.ts';
import { parseWithin } from '../../http/json-budget.ts';
import { DESTINATION_FIELDS } from '../../submit/wanted/destination.ts';
import { WEBHOOK_FIELDS } from '../../submit/wanted/webhook.ts';
import { INCLUDE_IMAGE } from '../tools/list.ts';
import type { McpTool } from '../tools/tool.ts';
import { normalized } from './normalize.ts';

export interface Arguments {
  /** As sent, in order. */
  readonly files: readonly string[];
  /** Empty: the file keeps the name that it has at its source. */
  readonly filename: string;
  /** By the names of the form's fields. */
  readonly fields: ReadonlyMap<string, string>;
  /** About unknown arguments, if it is clear what was meant. */
  readonly warnings: JobRecord['warnings'];
}

/** More than any tool takes. */
const MOST_ARGUMENTS = 100;
/** Length of an argument that is not a file, characters. */
const MOST_CHARACTERS = 64 * 1024;
/** Items of a list such as pages: [1, 2]. */
const MOST_ITEMS = 500;

/** Length of a list of files that is sent as one JSON string: as for a whole request. */
const MOST_LIST_BYTES = 16 << 20;

/** Arguments that are not fields of a form. */
export const FILES: readonly string[] = ['file', 'files', 'files[]', 'filename'];
export const INCLUDE = INCLUDE_IMAGE;

/** @throws Failure `BAD_REQUEST`, `INVALID_OPTION`, `BATCH_TOO_LARGE` */
export function readCall(tool: McpTool, args: Readonly<Record<string, unknown>>): Arguments {
  const { files, params } = tool;
  const given = Object.entries(args);
  if (given.length > MOST_ARGUMENTS) throw new Failure('BAD_REQUEST', { says: `A call may have at most ${MOST_ARGUMENTS} arguments.` });
  const fields = new Map<string, string>();
  const warnings: JobRecord['warnings'][number][] = [];
  for (const [name, value] of given) {
    if (FILES.includes(name) || name === INCLUDE || value === null || value === undefined) continue;
    const meant = isKnown(name, tool) ? undefined : meantName(name, Object.keys(params));
    // In a tool with few options it is plain what is meant; a conversion has several that are much alike.
    if (meant !== undefined && tool.slug === undefined) {
      warnings.push({ code: 'option_unknown', message: `There is no option "${name}". Did you mean ${meant}?` });
      continue;
    }
    const param = meant ?? name;
    fields.set(Object.hasOwn(params, param) ? (params[param]?.field ?? param) : param, textOf(name, value));
  }
  const { filename } = args;
  if (filename !== undefined && filename !== null && typeof filename !== 'string') throw refusedArgument('filename', 'a string');
  return {
    files: files === 'one' ? oneFile(args) : severalFiles(args),
    filename: (filename ?? '').trim().slice(0, 1_000),
    fields: normalized(fields, tool),
    warnings,
  };
}

const isKnown = (name: string, { params }: McpTool): boolean =>
  WEBHOOK_FIELDS.includes(name) ||
  DESTINATION_FIELDS.includes(name) ||
  Object.hasOwn(params, name) ||
  Object.values(params).some(({ field }) => field === name);

/** @throws Failure `INVALID_OPTION` */
function textOf(name: string, value: unknown): string {
  const isPlain = (one: unknown) => typeof one === 'number' || typeof one === 'boolean' || typeof one === 'string';
  const text = isPlain(value)
    ? String(value)
    : Array.isArray(value) && value.length <= MOST_ITEMS && value.every(isPlain)
      ? value.join(',')
      : undefined;
  if (text === undefined || text.length > MOST_CHARACTERS) throw refusedArgument(name.slice(0, 100), 'a string, a number or a boolean');
  return text;
}

/** @throws Failure `INVALID_OPTION` */
export function readFlag(args: Readonly<Record<string, unknown>>, name: string): boolean {
  const sent = args[name];
  if (sent === undefined || sent === null || sent === '') return false;
  const text = asText(sent).trim().toLowerCase();
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw refusedArgument(name, 'true or false');
}

function oneFile({ file }: Readonly<Record<string, unknown>>): readonly string[] {
  if (file === undefined || file === null || file === '')
    throw new Failure('NO_FILE', { says: 'The call has no file: pass one in the argument "file".' });
  if (typeof file !== 'string') throw refusedArgument('file', 'a string: a URL, base64 or an upload id');
  return [file];
}

function severalFiles(args: Readonly<Record<string, unknown>>): readonly string[] {
  const sent = args['files'] ?? args['files[]'] ?? [];
  // Some clients send strings only.
  const files = typeof sent === 'string' ? listIn(sent) : sent;
  if (!Array.isArray(files) || !files.every((file) => typeof file === 'string'))
    throw refusedArgument('files', 'a list of strings: URLs, base64 or upload ids');
  return files;
}

/** The files of a tool that takes one or several, wherever they are given; `url` is the page of `webpage-to-pdf`. @throws Failure `INVALID_OPTION` */
export function filesIn(args: Readonly<Record<string, unknown>>): {
  readonly files: readonly string[];
  readonly others: Readonly<Record<string, unknown>>;
} {
  const { file, url, files, 'files[]': alias, ...others } = args;
  const one = file ?? url;
  if (typeof one === 'string') return { files: [one], others };
  const sent = files ?? alias;
  // One file needs no list.
  if (typeof sent === 'string' && !sent.trimStart().startsWith('[')) return { files: [sent], others };
  return { files: severalFiles({ files: sent }), others };
}

/** @param sent an object, or one as a JSON string @throws Failure `INVALID_OPTION` */
export function readOptionsObject(sent: unknown): Readonly<Record<string, unknown>> {
  if (sent === undefined || sent === null || sent === '') return {};
  const read = typeof sent === 'string' && sent.length <= MOST_CHARACTERS ? jsonIn(sent, MOST_CHARACTERS) : sent;
  if (typeof read !== 'object' || read === null || Array.isArray(read))
    throw refusedArgument('options', 'a JSON object, such as {"pages":"2-4"}');
  return read as Record<string, unknown>;
}

const listIn = (text: string): unknown => jsonIn(text, MOST_LIST_BYTES);

function jsonIn(text: string, most: number): unknown {
  try {
    return parseWithin(text, most);
  } catch {
    return undefined;
  }
}

export function refusedArgument(option: string, allowed: string): Failure {
  return new Failure('INVALID_OPTION', {
    says: `The argument ${option} is invalid; expected ${allowed}.`,
    details: { option, received: null, allowed },
  });
}

/** Replaces the names of form fields in a refusal by the names of the call's arguments. */
export function namingArguments(error: unknown, { params }: McpTool): unknown {
  if (!(error instanceof Failure) || typeof error.details['option'] !== 'string') return error;
  const names = Object.entries(params).filter(([name, { field }]) => name !== field);
  const said = (text: string) => names.reduce((sentence, [name, { field }]) => sentence.replaceAll(field, name), text);
  const renamed = Object.fromEntries(
    Object.entries(error.details).map(([key, value]) => [key, typeof value === 'string' && key !== 'received' ? said(value) : value]),
  );
  return error.with({ says: said(error.message), details: renamed });
}
