/** Turns a call's arguments into the fields of a REST form, so that the same code validates both. */
import { Failure } from '../../../errors.ts';
import { parseWithin } from '../../http/json-budget.ts';
import type { McpTool } from '../tools/tool.ts';

export interface Arguments {
  /** As sent, in order. */
  readonly files: readonly string[];
  /** Empty: the file keeps the name that it has at its source. */
  readonly filename: string;
  /** By the names of the form's fields. */
  readonly fields: ReadonlyMap<string, string>;
}

/** More than any tool takes. */
const MOST_ARGUMENTS = 100;
/** Length of an argument that is not a file, characters. */
const MOST_CHARACTERS = 64 * 1024;

/** Length of a list of files that is sent as one JSON string: as for a whole request. */
const MOST_LIST_BYTES = 16 << 20;

/** Arguments that are not fields of a form. */
export const FILES: readonly string[] = ['file', 'files', 'files[]', 'filename'];

/** @throws Failure `BAD_REQUEST`, `INVALID_OPTION`, `BATCH_TOO_LARGE` */
export function readArguments({ files, params }: McpTool, args: Readonly<Record<string, unknown>>): Arguments {
  const given = Object.entries(args);
  if (given.length > MOST_ARGUMENTS) throw new Failure('BAD_REQUEST', { says: `A call takes at most ${MOST_ARGUMENTS} arguments.` });
  const fields = new Map<string, string>();
  for (const [name, value] of given) {
    if (FILES.includes(name) || value === null || value === undefined) continue;
    if (!['string', 'number', 'boolean'].includes(typeof value) || (typeof value === 'string' && value.length > MOST_CHARACTERS))
      throw refusedArgument(name.slice(0, 100), 'one text, number or boolean');
    fields.set(Object.hasOwn(params, name) ? (params[name]?.field ?? name) : name, String(value));
  }
  const { filename } = args;
  if (filename !== undefined && filename !== null && typeof filename !== 'string') throw refusedArgument('filename', 'a text');
  return { files: files === 'one' ? oneFile(args) : severalFiles(args), filename: (filename ?? '').trim().slice(0, 1_000), fields };
}

function oneFile({ file }: Readonly<Record<string, unknown>>): readonly string[] {
  if (file === undefined || file === null || file === '')
    throw new Failure('NO_FILE', { says: 'The call has no file: give it in the argument "file".' });
  if (typeof file !== 'string') throw refusedArgument('file', 'one text: a URL, base64 or an upload id');
  return [file];
}

function severalFiles(args: Readonly<Record<string, unknown>>): readonly string[] {
  const sent = args['files'] ?? args['files[]'] ?? [];
  // Some clients send strings only.
  const files = typeof sent === 'string' ? listIn(sent) : sent;
  if (!Array.isArray(files) || !files.every((file) => typeof file === 'string'))
    throw refusedArgument('files', 'a list of texts: URLs, base64 or upload ids');
  return files;
}

function listIn(text: string): unknown {
  try {
    return parseWithin(text, MOST_LIST_BYTES);
  } catch {
    return undefined;
  }
}

function refusedArgument(option: string, allowed: string): Failure {
  return new Failure('INVALID_OPTION', { says: `The argument ${option} takes ${allowed}.`, details: { option, received: null, allowed } });
}

/** Replaces the names of form fields in a refusal by the names of the call's arguments. */
export function namingArguments(error: unknown, { params }: McpTool): unknown {
  if (!(error instanceof Failure) || typeof error.details['option'] !== 'string') return error;
  const { code, details, retryAfter, cause } = error;
  const names = Object.entries(params).filter(([name, { field }]) => name !== field);
  const said = (text: string) => names.reduce((sentence, [name, { field }]) => sentence.replaceAll(field, name), text);
  const renamed = Object.fromEntries(
    Object.entries(details).map(([key, value]) => [key, typeof value === 'string' && key !== 'received' ? said(value) : value]),
  );
  return new Failure(code, { says: said(error.message), details: renamed, cause, ...(retryAfter === undefined ? {} : { retryAfter }) });
}
