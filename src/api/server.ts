/** The HTTP server: ids, CORS, one shape of error and one line of log for every request, around the routes. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { Failure } from '../errors.ts';
import { answerPreflights, CORS_HEADERS } from './cors.ts';
import { answerThenDiscard } from './discard.ts';
import { giveBack, watchDoor } from './door.ts';
import { holdBackBodies } from './expect.ts';
import { refuseMalformed, watchConnections } from './malformed.ts';
import { type Methods, methodsOf } from './methods.ts';
import type { ApiParts } from './parts.ts';
import { failureOf, problemOf } from './problem.ts';
import { batchRoutes } from './routes/batch.ts';
import { convertRoute } from './routes/convert.ts';
import { eventsRoute } from './routes/events.ts';
import { healthRoutes } from './routes/health.ts';
import { jobRoutes } from './routes/job.ts';
import { limitsRoute } from './routes/limits.ts';
import { outputRoute } from './routes/output.ts';
import { toolRoutes } from './routes/tools.ts';

/** Ours are UUIDs; a caller's own is kept where it is harmless in a log. */
const requestId = (request: IncomingMessage): string => {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(sent) ? sent : randomUUID();
};

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
    parts.metrics.requestEnded(request.method, route, reply.statusCode, reply.elapsedTime / 1000);
    request.log.info({ method: request.method, route, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'request');
  };
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(CORS_HEADERS).header('x-request-id', request.id);
    // RFC 9112 §3.2.
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined)
      throw new Failure('BAD_REQUEST', { says: 'The request has no Host header.' });
  });
  answerPreflights(app);
  watchDoor(app, parts);
  app.addHook('onSend', async ({ raw }, reply) => {
    // Nobody waits for the end of a body that no route wanted, or of what follows a form: it may never come.
    if (!raw.complete && hasBody(raw)) reply.header('connection', 'close');
  });
  app.addHook('onResponse', async (request, reply) => ended(request, reply));
  app.setErrorHandler(async (error, request, reply) => {
    const failure = failureOf(error, request);
    await giveBack(parts, request, failure.status).catch((err: unknown) => request.log.warn({ err }, 'a share could not be given back'));
    return sendFailure(request, reply, failure);
  });
  app.setNotFoundHandler((request, reply) => {
    const allowed = methods(request.url);
    if (allowed.length === 0) return sendFailure(request, reply, new Failure('NOT_FOUND'));
    reply.header('allow', allowed.join(', '));
    return sendFailure(request, reply, new Failure('METHOD_NOT_ALLOWED', { details: { allowed } }));
  });

  convertRoute(app, parts);
  batchRoutes(app, parts);
  toolRoutes(app, parts);
  jobRoutes(app, parts);
  outputRoute(app, parts);
  eventsRoute(app, parts);
  limitsRoute(app, parts);
  healthRoutes(app, parts);
  holdBackBodies(app.server);
  watchConnections(app.server);
  return app;
}

function sendFailure(request: FastifyRequest, reply: FastifyReply, failure: Failure): FastifyReply {
  if (failure.retryAfter !== undefined) reply.header('retry-after', String(failure.retryAfter));
  if (failure.cause !== undefined) request.log.info({ code: failure.code, why: inShort(failure.cause) }, 'a request was refused');
  const body = JSON.stringify(problemOf(failure, request.id));
  reply.code(failure.status).type('application/json; charset=utf-8').header('content-length', Buffer.byteLength(body));
  if (request.raw.complete || !hasBody(request.raw)) return reply.send(body);
  return reply.send(answerThenDiscard(body, request.raw));
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** What is logged of a refusal's cause: its message may repeat the address asked for, or a path; the whole is logged where the fault is ours. */
function inShort(cause: unknown): string {
  const { code, name } = cause as { readonly code?: unknown; readonly name?: unknown };
  return String(code ?? name ?? typeof cause);
}
