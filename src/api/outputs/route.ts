/** `GET /api/v1/jobs/{id}/output`: the converted file, as a stream that no browser will run. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import type { StoredOutput } from '../../jobs/record.ts';
import { Missing, type ObjectStore } from '../../objects/store.ts';
import type { ApiDeps } from '../deps.ts';
import { matchesAny } from '../http/etag.ts';
import { findJob } from '../jobs/found.ts';
import { RETRY_AFTER, sendJob } from '../jobs/send.ts';
import { answersText } from '../jobs/text.ts';
import { nameToSave, shown, whenDone } from '../jobs/view.ts';
import type { Sends } from './deleted.ts';

/** The file is untrusted and may be HTML or SVG: browsers must not sniff, run, cache or index it. */
export const HARMLESS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'private, no-store',
  'x-robots-tag': 'noindex',
  'accept-ranges': 'bytes',
} as const;

export function outputRoute(app: FastifyInstance, deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>, sends: Sends): void {
  app.get<{ Params: { id: string }; Querystring: { name?: unknown } }>(
    '/api/v1/jobs/:id/output',
    { exposeHeadRoute: true },
    async (request, reply) => {
      const record = shown(await findJob(deps, request.params.id), deps.jobs.clock());
      if (record.state === 'error') return sendJob(deps, request, reply, record);
      if (answersText(deps.catalogue.current, record))
        throw new Failure('NOT_FOUND', { says: 'This job has no output file: its text is in the job.' });
      const { output } = whenDone(record);
      if (output === undefined) throw notReady(reply, record.id);
      const filename = request.query.name === 'source' ? nameToSave(record.filename, output.filename, deps.files.suffix) : output.filename;
      return sendOutput(deps, request, reply, { ...output, filename }, (stream) => sends(stream, [record.id]));
    },
  );
}

/** One result of a recipe: a part of the job's output. */
export function namedOutputRoute(
  app: FastifyInstance,
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>,
  sends: Sends,
): void {
  app.get<{ Params: { id: string; name: string } }>('/api/v1/jobs/:id/outputs/:name', { exposeHeadRoute: true }, async (request, reply) => {
    const record = shown(await findJob(deps, request.params.id), deps.jobs.clock());
    if (record.state === 'error') return sendJob(deps, request, reply, record);
    const { output, outputs = [] } = whenDone(record);
    const part = outputs.find(({ name }) => name === request.params.name);
    if (output !== undefined && part === undefined) throw unknownOutput(outputs);
    if (output === undefined || part === undefined) throw notReady(reply, record.id);
    return sendOutput(deps, request, reply, { ...part, key: output.key }, (stream) => sends(stream, [record.id]), part.start);
  });
}

function unknownOutput(outputs: readonly { readonly name: string }[]): Failure {
  const has = outputs.length === 0 ? 'it is no recipe, and has one output' : `it has ${outputs.map(({ name }) => name).join(', ')}`;
  return new Failure('NOT_FOUND', { says: `The job has no output of this name: ${has}.` });
}

function notReady(reply: FastifyReply, id: string): Failure {
  reply.header('retry-after', RETRY_AFTER);
  return new Failure('JOB_NOT_READY', { details: { job_id: id } });
}

/** @param start its first byte in the stored object */
async function sendOutput(
  { files: { objects } }: Pick<ApiDeps, 'files'>,
  request: FastifyRequest,
  reply: FastifyReply,
  output: StoredOutput,
  opened: (stream: Readable) => void,
  start?: number,
): Promise<FastifyReply> {
  const { sizeBytes } = output;
  const etag = `"${output.sha256}"`;
  const about = { ...HARMLESS, etag };
  if (matchesAny(request.headers['if-none-match'], etag)) return reply.headers(about).code(304).send();
  const range = askedRange(request, etag, sizeBytes);
  if (range === 'unsatisfiable') {
    reply.header('accept-ranges', 'bytes').header('content-range', `bytes */${sizeBytes}`);
    throw new Failure('RANGE_NOT_SATISFIABLE', { details: { size_bytes: sizeBytes } });
  }
  // An empty stream: without a payload fastify would send a length of 0.
  const stream =
    request.method === 'HEAD' || (start !== undefined && sizeBytes === 0)
      ? Readable.from([])
      : await openOutput(objects, output.key, start === undefined ? range : partOf(output, start, range));
  opened(stream);
  // Only now: a refusal must not carry the file's headers.
  reply
    .headers(about)
    .code(range === undefined ? 200 : 206)
    .header('content-type', output.contentType)
    .header('content-disposition', contentDisposition(output.filename))
    .header('content-length', range === undefined ? sizeBytes : range.end - range.start + 1);
  if (range !== undefined) reply.header('content-range', `bytes ${range.start}-${range.end}/${sizeBytes}`);
  return reply.send(stream);
}

/** A range of a part, as a range of the object that it lies in. */
function partOf(
  { sizeBytes }: Pick<StoredOutput, 'sizeBytes'>,
  start: number,
  range: ByteRange = { start: 0, end: sizeBytes - 1 },
): ByteRange {
  return { start: start + range.start, end: start + range.end };
}

/** `Range` applies to GET alone (RFC 9110 §14.2), and only while `If-Range` names this very content (§13.1.5). */
function askedRange({ method, headers }: FastifyRequest, etag: string, sizeBytes: number): ReturnType<typeof byteRange> {
  const condition = headers['if-range'];
  return method === 'GET' && (condition === undefined || condition === etag) ? byteRange(headers.range, sizeBytes) : undefined;
}

/** @throws Failure `JOB_EXPIRED` when the file was deleted after the record was read */
function openOutput(objects: ObjectStore, key: string, range: ByteRange | undefined): Promise<Readable> {
  return objects.get(key, range).catch((error: unknown) => {
    throw error instanceof Missing ? new Failure('JOB_EXPIRED', { cause: error }) : error;
  });
}

/** RFC 6266 with both forms: an ASCII name for old clients, RFC 8187 for the true one. */
export function contentDisposition(filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(filename).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

/** The Range header (RFC 9110 §14): one range of bytes; several, or another unit, mean the whole file. */
interface ByteRange {
  /** Both ends included. */
  readonly start: number;
  readonly end: number;
}

export function byteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.trim() ?? '');
  if (match === null) return undefined;
  const [, from = '', to = ''] = match;
  if (from === '' && to === '') return undefined;
  if (from === '') return Number(to) === 0 || size === 0 ? 'unsatisfiable' : { start: Math.max(0, size - Number(to)), end: size - 1 };
  const start = Number(from);
  if (to !== '' && Number(to) < start) return undefined;
  if (start >= size) return 'unsatisfiable';
  return { start, end: to === '' ? size - 1 : Math.min(size - 1, Number(to)) };
}
