/** The HTTP server: ids, CORS, one shape of error and one line of log for every request, around the routes. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { Failure } from '../errors.ts';
import { allowCors } from './cors.ts';
import { answerThenDiscard } from './discard.ts';
import { type Methods, methodsOf } from './methods.ts';
import type { ApiParts } from './parts.ts';
import { failureOf, problemOf } from './problem.ts';
import { convertRoute } from './routes/convert.ts';
import { healthRoutes } from './routes/health.ts';
import { jobRoutes } from './routes/job.ts';
import { outputRoute } from './routes/output.ts';

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
    http: { headersTimeout: 20_000, maxHeaderSize: 32 * 1024 },
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true },
    frameworkErrors: (error, request, reply) => void sendFailure(request, reply, new Failure('NOT_FOUND', { cause: error })),
    clientErrorHandler,
  });
  const methods: Methods = methodsOf(app);
  // Bodies are read by the routes that want them, as streams.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));

  allowCors(app);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    parts.metrics.requestEnded(request.method, route, reply.statusCode, reply.elapsedTime / 1000);
    request.log.info({ method: request.method, route, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'request');
  });
  app.setErrorHandler((error, request, reply) => sendFailure(request, reply, failureOf(error, request)));
  app.setNotFoundHandler((request, reply) => {
    const allowed = methods(request.url);
    if (allowed.length === 0) return sendFailure(request, reply, new Failure('NOT_FOUND'));
    reply.header('allow', allowed.join(', '));
    return sendFailure(request, reply, new Failure('METHOD_NOT_ALLOWED', { details: { allowed } }));
  });

  convertRoute(app, parts);
  jobRoutes(app, parts);
  outputRoute(app, parts);
  healthRoutes(app, parts);
  judgeExpectations(app, parts);
  return app;
}

function sendFailure(request: FastifyRequest, reply: FastifyReply, failure: Failure): FastifyReply {
  if (failure.code === 'OVERLOADED') reply.header('retry-after', '5');
  if (failure.cause !== undefined) request.log.info({ code: failure.code, err: failure.cause }, 'a request was refused');
  const body = JSON.stringify(problemOf(failure, request.id));
  reply.code(failure.status).type('application/json; charset=utf-8').header('content-length', Buffer.byteLength(body));
  if (request.raw.complete || !hasBody(request.raw)) return reply.send(body);
  return reply.header('connection', 'close').send(answerThenDiscard(body, request.raw));
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** `Expect: 100-continue` (RFC 9110 §10.1.1): who would be refused by its headers is told so before it sends a body. */
function judgeExpectations(app: FastifyInstance, { settings }: ApiParts): void {
  const server: Server = app.server;
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const declared = Number(request.headers['content-length'] ?? 0);
    if (declared <= settings.maxFileBytes + (1 << 20)) response.writeContinue();
    server.emit('request', request, response);
  });
}

/** What is no HTTP, or too much of it, gets the envelope too: there is no reply object yet. */
function clientErrorHandler(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const id = randomUUID();
  const [status, failure] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', new Failure('BAD_REQUEST', { says: 'The request has more headers than are accepted.' })]
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', new Failure('BODY_TIMEOUT')]
        : ['400 Bad Request', new Failure('BAD_REQUEST')];
  const body = JSON.stringify(problemOf(failure as Failure, id));
  const head = [
    `HTTP/1.1 ${status as string}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${id}`,
    'access-control-allow-origin: *',
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
