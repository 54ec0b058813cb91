/** Cross-origin requests (Fetch standard, "CORS protocol"): any page may use the service, and read every header that it documents. */
import type { FastifyInstance } from 'fastify';
import { limitHeaders } from '../../limits/answers/headers.ts';
import { isWithin } from '../../paths.ts';

const EXPOSED = [
  'X-Request-Id',
  ...limitHeaders,
  'Retry-After',
  'Location',
  'ETag',
  'Content-Disposition',
  'Content-Range',
  'Accept-Ranges',
  'Preference-Applied',
  'Idempotency-Replayed',
  'Tus-Resumable',
  'Tus-Version',
  'Tus-Extension',
  'Tus-Max-Size',
  'Upload-Offset',
  'Upload-Length',
  'Upload-Metadata',
  'Upload-Expires',
];
/** Those that we read, and those that clients and proxies before us usually add: one that is missing here stops the page. */
const ALLOWED = [
  'Accept',
  'Authorization',
  'Cache-Control',
  'Content-Type',
  'If-Match',
  'If-Modified-Since',
  'If-Unmodified-Since',
  'Pragma',
  'Traceparent',
  'Tracestate',
  'User-Agent',
  'X-API-Key',
  'X-Requested-With',
  'Prefer',
  'Range',
  'If-Range',
  'If-None-Match',
  'X-Request-Id',
  'Last-Event-ID',
  'Idempotency-Key',
  'Tus-Resumable',
  'Upload-Length',
  'Upload-Offset',
  'Upload-Metadata',
  'Upload-Defer-Length',
  'Upload-Concat',
  'X-HTTP-Method-Override',
  'Mcp-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'Mcp-Session-Id',
];
const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'];
/** How long a browser may remember a preflight's answer, seconds. */
const MAX_AGE = 86_400;

/** On every answer, refusals of what is no HTTP included: a page could not read the reason otherwise. */
export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED.join(', '),
} as const;

/**
 * To be called after the hook that sets `CORS_HEADERS`: a preflight is answered here.
 * @param more headers that every answer to OPTIONS at and below this path has
 */
export function answerPreflights(
  app: FastifyInstance,
  more: { readonly path: string; readonly headers: Readonly<Record<string, string>> },
): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'OPTIONS') return;
    if (isWithin(more.path, request.url.split('?', 1)[0] ?? '')) reply.headers(more.headers);
    reply
      .header('access-control-allow-methods', METHODS.join(', '))
      .header('access-control-allow-headers', ALLOWED.join(', '))
      .header('access-control-max-age', MAX_AGE);
    await reply.code(204).send();
  });
}
