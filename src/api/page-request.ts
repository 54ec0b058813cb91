/** A request that names a web page: its fields in any of three bodies, its URL judged, and stored as the one input of its job. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { refuseField } from '../catalog/tool.ts';
import { Failure } from '../errors.ts';
import { askForBody } from './expect.ts';
import { watchPace } from './pace.ts';
import type { ApiParts } from './parts.ts';
import { type Received, type ReceivedFile, receive, type Wanted } from './receive.ts';
import type { ApiSettings } from './settings.ts';
import { storeSampled } from './store-sampled.ts';

/** Of a body without files: a URL of 8,192 characters, escaped, and the options. */
const MOST_BYTES = 64 * 1024;
/** What a client reads as `allowed`. */
const URL_TAKES = 'the http or https URL of a page';

/**
 * The URL is the job's input, not a part of its record: records are kept for longer than inputs, and read by more.
 * @returns a file that is called after the page's host
 * @throws Failure `INVALID_OPTION`, `URL_REFUSED`, `NO_FILE`, `BAD_REQUEST`, `BODY_TIMEOUT`, `NOT_IMPLEMENTED`; then nothing is stored
 */
export async function receivePage(parts: ApiParts, request: FastifyRequest, { keyOf }: Pick<Wanted, 'keyOf'>): Promise<Received> {
  const fields = await readFields(parts, request.raw);
  const gone = new AbortController();
  const leave = () => gone.abort(new Error('the client went away'));
  const { socket } = request.raw;
  if (socket.destroyed) leave();
  socket.once('close', leave);
  try {
    return { fields, files: [await storePage(parts, fields.get('url'), keyOf(0), gone.signal)], count: 1 };
  } finally {
    socket.off('close', leave);
  }
}

/** @throws Failure `INVALID_OPTION`, `URL_REFUSED`, `NOT_IMPLEMENTED`; then nothing is stored */
export async function storePage(
  { findPage, objects, settings }: Pick<ApiParts, 'findPage' | 'objects' | 'settings'>,
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

async function readFields(parts: ApiParts, request: IncomingMessage): Promise<ReadonlyMap<string, string>> {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  switch (type) {
    case 'multipart/form-data': {
      const none = { fields: [], maxFiles: 0, maxBytes: MOST_BYTES, keyOf: () => '' };
      return (await receive(request, none, parts.objects, parts.settings)).fields;
    }
    case 'application/x-www-form-urlencoded':
      return new Map(new URLSearchParams(await readText(request, parts.settings)));
    case 'application/json':
      return readJson(await readText(request, parts.settings));
    default:
      throw new Failure('NO_FILE', {
        says: 'Send the field "url" as multipart/form-data, as application/x-www-form-urlencoded or as JSON.',
      });
  }
}

function readJson(text: string): ReadonlyMap<string, string> {
  const malformed = (cause?: unknown) =>
    new Failure('BAD_REQUEST', { says: 'The body is no JSON object of texts, numbers and booleans.', cause });
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
      return [[name.slice(0, 200), String(value)] as const];
    }),
  );
}

async function readText(request: IncomingMessage, settings: ApiSettings): Promise<string> {
  const tooLong = () =>
    new Failure('BAD_REQUEST', { says: `The body is longer than ${MOST_BYTES} bytes.`, details: { max_bytes: MOST_BYTES } });
  if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) throw tooLong();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const failed = new AbortController();
  const unwatch = watchPace(request, settings, () => failed.abort(new Failure('BODY_TIMEOUT')));
  try {
    await new Promise<void>((resolve, reject) => {
      failed.signal.addEventListener('abort', () => reject(failed.signal.reason), { once: true });
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MOST_BYTES) reject(tooLong());
        else chunks.push(chunk);
      });
      request.once('end', resolve);
      request.once('close', () => reject(new Failure('BAD_REQUEST', { says: 'The body is incomplete.' })));
      askForBody(request);
    });
  } finally {
    unwatch();
    request.removeAllListeners('data');
  }
  return Buffer.concat(chunks).toString('utf8');
}
