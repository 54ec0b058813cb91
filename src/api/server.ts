/** The HTTP server: ids, CORS, one shape of error and one line of log for every request, around the routes. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { Failure } from '../errors.ts';
import { answerPreflights, CORS_HEADERS } from './cors.ts';
import { endDeleted } from './deleted.ts';
import { countRefused, giveBackAfter, watchDoor } from './door.ts';
import { holdBackBodies } from './expect.ts';
import { answerHalfClosed } from './half-closed.ts';
import { refuseMalformed, watchConnections } from './malformed.ts';
import { mcpRoutes } from './mcp/routes.ts';
import { type Methods, methodsOf } from './methods.ts';
import type { ApiParts } from './parts.ts';
import { failureOf } from './problem.ts';
import { hasBody, sendFailure } from './refuse.ts';
import { batchRoutes } from './routes/batch.ts';
import { convertRoute } from './routes/convert.ts';
import { docsRoutes } from './routes/docs.ts';
import { eventsRoute } from './routes/events.ts';
import { formatsRoute } from './routes/formats.ts';
import { healthRoutes } from './routes/health.ts';
import { jobRoutes } from './routes/job.ts';
import { limitsRoute } from './routes/limits.ts';
import { outputRoute } from './routes/output.ts';
import { toolRoutes } from './routes/tools.ts';
import { tusAbilities, UPLOADS_PATH, uploadRoutes } from './routes/uploads.ts';
import { closeStalled } from './stalled.ts';
import { announceRetirements } from './versioning.ts';

/** Ours are UUIDs; a caller's own is kept where it is harmless in a log. */
const requestId = (request: IncomingMessage): string => {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(sent) ? sent : randomUUID();
};

/** RFC 9112 §3.2: one Host, which HTTP/1.0 may lack. @throws Failure `BAD_REQUEST` */
function checkHost({ httpVersion, headers, rawHeaders }: IncomingMessage): void {
  if (headers.host === undefined) {
    if (httpVersion === '1.1') throw new Failure('BAD_REQUEST', { says: 'The request has no Host header.' });
    return;
  }
  // Of several the framework shows the first: a proxy before us may have gone by the last.
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  if (hosts.length > 1) throw new Failure('BAD_REQUEST', { says: 'The request has more than one Host header.' });
}

export function createServer(parts: ApiParts): FastifyInstance {
  const app: FastifyInstance = fastify({
    loggerInstance: parts.log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: requestId,
    // Bodies have a pace of their own (pace.ts): a total would cut off a slow but honest 200 MB.
    requestTimeout: 0,
    // A missing Host is refused below, in our words.
    http: { headersTimeout: 20_000, maxHeaderSize: 32 * 1024, requireHostHeader: false },
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true },
    frameworkErrors: (error, request, reply) => {
      // An address that cannot be decoded meets no hook.
      reply.headers(CORS_HEADERS).header('x-request-id', request.id);
      sendFailure(request, reply, new Failure('NOT_FOUND', { cause: error }));
      ended(request, reply);
    },
    clientErrorHandler: refuseMalformed,
  });
  const methods: Methods = methodsOf(app);
  // Bodies are read by the routes that want them, as streams.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));

  const ended = (request: FastifyRequest, reply: FastifyReply) => {
    const route = request.routeOptions.url ?? 'none';
    parts.loop.end(route);
    parts.metrics.requestEnded(request.method, route, reply.statusCode, reply.elapsedTime / 1000);
    request.log.info({ method: request.method, route, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'request');
  };
  app.addHook('onRequest', async (request, reply) => {
    parts.loop.begin(request.routeOptions.url ?? 'none');
    reply.headers(CORS_HEADERS).header('x-request-id', request.id);
    checkHost(request.raw);
  });
  answerPreflights(app, { path: UPLOADS_PATH, headers: tusAbilities(parts.settings.maxFileBytes) });
  watchDoor(app, parts);
  announceRetirements(app);
  app.addHook('onSend', async ({ raw }, reply) => {
    // Nobody waits for the end of a body that no route wanted, or of what follows a form: it may never come.
    if (!raw.complete && hasBody(raw)) reply.header('connection', 'close');
  });
  app.addHook('onResponse', async (request, reply) => ended(request, reply));
  app.addHook('onClose', () => parts.judge.close());
  const refuseUnknown = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const allowed = methods(request.url);
    if (allowed.length === 0) return sendFailure(request, reply, new Failure('NOT_FOUND'));
    return sendFailure(request, reply, new Failure('METHOD_NOT_ALLOWED', { details: { allowed } }));
  };
  app.setErrorHandler(async (error, request, reply) => {
    // Of a QUERY the framework wants a Content-Type before it looks whether anything takes that method.
    if (request.is404 && !(error instanceof Failure)) return refuseUnknown(request, reply);
    const failure = failureOf(error, request);
    countRefused(parts, request, failure.status);
    await giveBackAfter(parts, request, failure.status).catch((err: unknown) =>
      request.log.warn({ err }, 'a share could not be given back'),
    );
    return sendFailure(request, reply, failure);
  });
  app.setNotFoundHandler(refuseUnknown);

  convertRoute(app, parts);
  const sends = endDeleted(app, parts);
  batchRoutes(app, parts, sends);
  toolRoutes(app, parts);
  uploadRoutes(app, parts);
  jobRoutes(app, parts);
  outputRoute(app, parts, sends);
  eventsRoute(app, parts);
  formatsRoute(app, parts);
  limitsRoute(app, parts);
  healthRoutes(app, parts);
  docsRoutes(app, parts);
  mcpRoutes(app, parts);
  holdBackBodies(app.server);
  watchConnections(app.server);
  answerHalfClosed(app.server);
  closeStalled(app.server, parts.settings.stalledMs);
  return app;
}
