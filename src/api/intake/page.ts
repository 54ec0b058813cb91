/** A request that names a web page: reads its fields from any of three kinds of body, checks the URL, and stores it as the job's only input. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { refuseField } from '../../catalog/tool.ts';
import { Failure } from '../../errors.ts';
import type { ApiDeps } from '../deps.ts';
import { readBlocks } from '../http/blocks.ts';
import { JsonBudget } from '../http/json-budget.ts';
import type { ApiSettings } from '../settings.ts';
import { type Received, type ReceivedFile, receive, type Wanted } from './receive.ts';
import { storeSampled } from './store-sampled.ts';

/** Of a body without files: a URL of 8,192 characters, escaped, and the options. */
const MOST_BYTES = 64 * 1024;
/** As many as a multipart form may have. */
const MOST_FIELDS = 100;
/** Of a field, characters. */
const MOST_NAME = 200;
/** `allowed` in the refusal. */
const URL_TAKES = 'the http or https URL of a page';

/**
 * The URL is the job's input, not a part of its record: records are kept longer than inputs, and more processes read them.
 * @returns a file that is named after the page's host
 * @throws Failure `INVALID_OPTION`, `URL_REFUSED`, `NO_FILE`, `BAD_REQUEST`, `BODY_TIMEOUT`, `NOT_IMPLEMENTED`; then nothing is stored
 */
export async function receivePage(deps: ApiDeps, request: FastifyRequest, { keyOf }: Pick<Wanted, 'keyOf'>): Promise<Received> {
  const fields = await readFields(deps, request.raw);
  const gone = new AbortController();
  const leave = () => gone.abort(new Error('the client went away'));
  const { socket } = request.raw;
  if (socket.destroyed) leave();
  socket.once('close', leave);
  try {
    return { fields, files: [await storePage(deps, fields.get('url'), keyOf(0), gone.signal)], count: 1 };
  } finally {
    socket.off('close', leave);
  }
}

/** @throws Failure `INVALID_OPTION`, `URL_REFUSED`, `NOT_IMPLEMENTED`; then nothing is stored */
export async function storePage(
  { findPage, objects, settings }: Pick<ApiDeps, 'findPage' | 'objects' | 'settings'>,
  sent: string | undefined,
  key: string,
  signal: AbortSignal,
): Promise<ReceivedFile> {
  const url = sent?.trim() || undefined;
  if (url === undefined) throw refuseField('url', undefined, URL_TAKES);
  if (findPage === undefined) throw new Failure('NOT_IMPLEMENTED', { details: { reason: 'pages are not fetched here' } });
  const target = await findPage(url, signal);
  const stored = await storeSampled(Readable.from([Buffer.from(target.url.href)]), key, objects, settings.maxFileBytes, signal);
  return { part: 0, filename: `${target.host}.url`, ...stored };
}

async function readFields(deps: ApiDeps, request: IncomingMessage): Promise<ReadonlyMap<string, string>> {
  const type = request.headers['content-type']?.slice(0, 200).split(';')[0]?.trim().toLowerCase();
  switch (type) {
    case 'multipart/form-data': {
      const none = { fields: [], maxFiles: 0, maxBytes: MOST_BYTES, keyOf: () => '' };
      return (await receive(request, none, deps.objects, deps.settings)).fields;
    }
    case 'application/x-www-form-urlencoded':
      return readForm(await readText(request, deps.settings, () => {}));
    case 'application/json': {
      const budget = new JsonBudget({ bytes: MOST_BYTES, tooLong, carriers: false });
      return readJson(await readText(request, deps.settings, (block) => budget.take(block)));
    }
    default:
      throw new Failure('NO_FILE', {
        says: 'Send the field "url" as multipart/form-data, as application/x-www-form-urlencoded or as JSON.',
      });
  }
}

/** @throws Failure `BAD_REQUEST` */
function readForm(text: string): ReadonlyMap<string, string> {
  let fields = 1;
  for (let at = text.indexOf('&'); at >= 0 && fields <= MOST_FIELDS; at = text.indexOf('&', at + 1)) fields++;
  if (fields > MOST_FIELDS) {
    const details = { limit: 'fields', max: MOST_FIELDS };
    throw new Failure('BAD_REQUEST', { says: `The form has more than ${MOST_FIELDS} fields.`, details });
  }
  return new Map([...new URLSearchParams(text)].map(([name, value]) => [name.slice(0, MOST_NAME), value]));
}

function readJson(text: string): ReadonlyMap<string, string> {
  const malformed = (cause?: unknown) =>
    new Failure('BAD_REQUEST', { says: 'The body must be a JSON object whose values are strings, numbers or booleans.', cause });
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw malformed(cause);
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw malformed();
  return new Map(
    Object.entries(body).flatMap(([name, value]) => {
      if (value === null) return [];
      if (!['string', 'number', 'boolean'].includes(typeof value)) throw malformed();
      return [[name.slice(0, MOST_NAME), String(value)] as const];
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
