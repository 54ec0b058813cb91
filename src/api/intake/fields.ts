/** Fields of a request without files: `application/x-www-form-urlencoded` (URL standard) or JSON. */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../../errors.ts';
import { readBlocks } from '../http/blocks.ts';
import { JsonBudget } from '../http/json-budget.ts';
import type { ApiSettings } from '../settings.ts';
import { LISTS, TARGET } from './receive.ts';

/** Length of a body without files: twenty URLs of usual length, or one of 8,192 characters, escaped, and the options. */
const MOST_BYTES = 64 * 1024;
/** As many as a multipart form may have. */
const MOST_FIELDS = 100;
/** Length of a field, characters. */
const MOST_NAME = 200;

/**
 * @param structured names of fields that may be objects in JSON: their value is that JSON
 * @returns the fields of a body that holds no file; undefined where it is a form that may hold files, or of another kind
 * @throws Failure `BAD_REQUEST`, `BODY_TIMEOUT`
 */
export async function readFields(
  request: IncomingMessage,
  settings: ApiSettings,
  structured: ReadonlySet<string> = NONE,
): Promise<ReadonlyMap<string, string> | undefined> {
  switch (mediaTypeOf(request)) {
    case 'application/x-www-form-urlencoded':
      return readForm(await readText(request, settings, () => {}));
    case 'application/json': {
      const budget = new JsonBudget({ bytes: MOST_BYTES, tooLong, carriers: false });
      return readJson(await readText(request, settings, (block) => budget.take(block)), structured);
    }
    default:
      return undefined;
  }
}

export const mediaTypeOf = ({ headers }: IncomingMessage): string | undefined =>
  headers['content-type']?.slice(0, 200).split(';')[0]?.trim().toLowerCase();

/** @throws Failure `BAD_REQUEST` */
function readForm(text: string): ReadonlyMap<string, string> {
  let fields = 1;
  for (let at = text.indexOf('&'); at >= 0 && fields <= MOST_FIELDS; at = text.indexOf('&', at + 1)) fields++;
  if (fields > MOST_FIELDS) {
    const details = { limit: 'fields', max: MOST_FIELDS };
    throw new Failure('BAD_REQUEST', { says: `The form has more than ${MOST_FIELDS} fields.`, details });
  }
  return joined([...new URLSearchParams(text)]);
}

const mayRepeat = (name: string): boolean => LISTS.has(name) || name === TARGET;

/** A field that may come several times has a line for each value; of any other the last one counts, as in a multipart form. */
function joined(fields: readonly (readonly [string, string])[]): ReadonlyMap<string, string> {
  const lines = new Map<string, string[]>();
  for (const [sent, value] of fields) {
    const name = sent.slice(0, MOST_NAME);
    if (mayRepeat(name)) lines.set(name, [...(lines.get(name) ?? []), value]);
    else lines.set(name, [value]);
  }
  return new Map([...lines].map(([name, values]) => [name, values.join('\n')]));
}

const NONE: ReadonlySet<string> = new Set();

function readJson(text: string, structured: ReadonlySet<string>): ReadonlyMap<string, string> {
  const says =
    'The body must be a JSON object whose values are strings, numbers or booleans; "urls" and "upload_ids" must be lists of strings, and "to_format" may be one.';
  const malformed = (cause?: unknown) => new Failure('BAD_REQUEST', { says, cause });
  let body: unknown;
  try {
    body = text === '' ? {} : JSON.parse(text);
  } catch (cause) {
    throw malformed(cause);
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw malformed();
  return joined(
    Object.entries(body).flatMap(([name, value]) => {
      if (value === null) return [];
      if (structured.has(name) && typeof value === 'object') return [[name, JSON.stringify(value)] as const];
      const values: readonly unknown[] = mayRepeat(name) && Array.isArray(value) ? value : [value];
      return values.map((each) => {
        if (!['string', 'number', 'boolean'].includes(typeof each)) throw malformed();
        return [name, String(each)] as const;
      });
    }),
  );
}

/** @param judge gets each block of the body as it arrives; what it throws is the answer @throws Failure `BAD_REQUEST`, `BODY_TIMEOUT` */
async function readText(request: IncomingMessage, settings: ApiSettings, judge: (block: Buffer) => void): Promise<string> {
  if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) throw tooLong();
  const kept: Buffer[] = [];
  let bytes = 0;
  await readBlocks(request, settings, (block) => {
    bytes += block.length;
    if (bytes > MOST_BYTES) throw tooLong();
    judge(block);
    kept.push(block);
  });
  return Buffer.concat(kept).toString('utf8');
}

const tooLong = (): Failure =>
  new Failure('BAD_REQUEST', { says: `The body is longer than ${MOST_BYTES} bytes.`, details: { max_bytes: MOST_BYTES } });
