/** Cross-origin requests (Fetch standard, "CORS protocol"): any page may use the service, and read every header that it documents. */
import type { FastifyInstance } from 'fastify';

const EXPOSED = [
  'X-Request-Id',
  'Retry-After',
  'Location',
  'ETag',
  'Content-Disposition',
  'Content-Range',
  'Accept-Ranges',
  'Preference-Applied',
];
const ALLOWED = ['Content-Type', 'Prefer', 'Range', 'If-Range', 'If-None-Match', 'X-Request-Id', 'Last-Event-ID', 'Idempotency-Key'];
const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'];
/** How long a browser may remember a preflight's answer, seconds. */
const MAX_AGE = 86_400;

export function allowCors(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('access-control-allow-origin', '*').header('access-control-expose-headers', EXPOSED.join(', '));
    if (request.method !== 'OPTIONS') return;
    reply
      .header('access-control-allow-methods', METHODS.join(', '))
      .header('access-control-allow-headers', ALLOWED.join(', '))
      .header('access-control-max-age', MAX_AGE);
    await reply.code(204).send();
  });
}
