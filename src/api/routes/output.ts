/** `GET /api/v1/jobs/{id}/output`: the converted file, as a stream that no browser will run. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import type { StoredOutput } from '../../jobs/record.ts';
import { Missing } from '../../objects/store.ts';
import type { ApiParts } from '../parts.ts';
import { byteRange } from '../range.ts';
import { RETRY_AFTER, sendJob } from '../send-job.ts';
import { shown } from '../view.ts';
import { findJob } from './job.ts';

/** The file came from a stranger and may be HTML or SVG: it is neither guessed at, nor run, nor kept, nor found. */
const HARMLESS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'private, no-store',
  'x-robots-tag': 'noindex',
  'accept-ranges': 'bytes',
} as const;

export function outputRoute(app: FastifyInstance, parts: ApiParts): void {
  app.get<{ Params: { id: string } }>('/api/v1/jobs/:id/output', { exposeHeadRoute: true }, async (request, reply) => {
    const record = shown(await findJob(parts, request.params.id), parts.clock());
    if (record.state === 'error') return sendJob(parts, request, reply, record);
    if (record.output === undefined) {
      reply.header('retry-after', RETRY_AFTER);
      throw new Failure('JOB_NOT_READY', { details: { job_id: record.id } });
    }
    return sendOutput(parts, request, reply, record.output);
  });
}

async function sendOutput(
  { objects }: ApiParts,
  request: FastifyRequest,
  reply: FastifyReply,
  output: StoredOutput,
): Promise<FastifyReply> {
  const etag = `"${output.sha256}"`;
  reply
    .headers(HARMLESS)
    .header('etag', etag)
    .header('content-type', output.contentType)
    .header('content-disposition', contentDisposition(output.filename));
  if (request.headers['if-none-match']?.split(',').some((tag) => tag.trim() === etag || tag.trim() === '*')) return reply.code(304).send();
  const conditional = request.headers['if-range'];
  const range = conditional === undefined || conditional === etag ? byteRange(request.headers.range, output.sizeBytes) : undefined;
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${output.sizeBytes}`).removeHeader('content-disposition');
    throw new Failure('RANGE_NOT_SATISFIABLE', { details: { size_bytes: output.sizeBytes } });
  }
  const length = range === undefined ? output.sizeBytes : range.end - range.start + 1;
  reply.code(range === undefined ? 200 : 206).header('content-length', length);
  if (range !== undefined) reply.header('content-range', `bytes ${range.start}-${range.end}/${output.sizeBytes}`);
  if (request.method === 'HEAD') return reply.send();
  const stream = await objects.get(output.key, range).catch((error: unknown) => {
    // Between reading the record and opening the file it was deleted.
    throw error instanceof Missing ? new Failure('JOB_EXPIRED', { cause: error }) : error;
  });
  return reply.send(stream);
}

/** RFC 6266 with both forms: an ASCII name for old clients, RFC 8187 for the true one. */
export function contentDisposition(filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(filename).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
