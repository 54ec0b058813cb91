/** The HTTP server: ids, CORS, one shape of error and one line of log for every request, around the routes. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { Failure } from '../errors.ts';
import { countRefused, limitHeadersFor, registerAdmission } from './admission/admission.ts';
import { limitsRoute } from './admission/limits-route.ts';
import { batchRoutes } from './batches/route.ts';
import { convertRoute } from './convert/route.ts';
import type { ApiDeps } from './deps.ts';
import { formatsRoute } from './formats/route.ts';
import { healthRoutes } from './health/route.ts';
import { prefixOf, withoutPrefix } from './http/base-url.ts';
import { answerHalfClosed } from './http/connections/half-closed.ts';
import { refuseMalformed, watchConnections } from './http/connections/malformed.ts';
import { servePipelined } from './http/connections/pipelining.ts';
import { closeStalled } from './http/connections/stalled.ts';
import { newConnectionTurns } from './http/connections/turns.ts';
import { answerPreflights, CORS_HEADERS } from './http/cors.ts';
import { holdBackBodies } from './http/expect.ts';
import { type Methods, methodsOf } from './http/methods.ts';
import { prepareAnswers } from './http/prepared.ts';
import { failureOf } from './http/problem.ts';
import { hasBody, sendFailure } from './http/refuse.ts';
import { announceRetirements } from './http/versioning.ts';
import { answerWhatIsDurable } from './jobs/durable.ts';
import { eventsRoute } from './jobs/events-route.ts';
import { jobListRoute } from './jobs/list-route.ts';
import { jobRoutes } from './jobs/route.ts';
import { mcpRoutes } from './mcp/routes.ts';
import { entryRoutes } from './openapi/entry.ts';
import { docsRoutes } from './openapi/route.ts';
import { endDeleted } from './outputs/deleted.ts';
import { namedOutputRoute, outputRoute } from './outputs/route.ts';
import { isForBrowser, pageRoutes } from './page/route.ts';
import { plainRoutes } from './plain/route.ts';
import { recipeRoutes } from './recipes/route.ts';
import { fetchesOf } from './submit/fetches.ts';
import { toolRoutes } from './tools/route.ts';
import { tusAbilities, UPLOADS_PATH, uploadRoutes } from './uploads/route.ts';
import { webhookKeysRoute } from './webhooks/keys-route.ts';

/** Addresses that only programs ask for: a browser gets JSON there, too. */
const OF_PROGRAMS = /^\/(?:api|mcp|assets)(?:[/?]|$)/i;

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
  // If there are several, the framework shows the first, but a proxy before us may have used the last.
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  if (hosts.length > 1) throw new Failure('BAD_REQUEST', { says: 'The request has more than one Host header.' });
}

export function createServer(deps: ApiDeps): FastifyInstance {
  const limitsOf = (remote: string | undefined) => limitHeadersFor(deps, remote);
  const app: FastifyInstance = fastify({
    loggerInstance: deps.telemetry.log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: requestId,
    // The pace of bodies is limited in pace.ts: a total would cut off a slow but honest 200 MB.
    requestTimeout: 0,
    // A missing Host is refused below, in our words.
    http: { headersTimeout: 20_000, maxHeaderSize: 32 * 1024, requireHostHeader: false },
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true },
    rewriteUrl: (raw) => withoutPrefix(raw.url ?? '/', prefixOf(deps.service.settings, raw), (url) => methods(url).length > 0),
    frameworkErrors: (error, request, reply) => {
      // An address that cannot be decoded meets no hook.
      reply.headers(CORS_HEADERS).header('x-request-id', request.id);
      void limitsOf(request.socket.remoteAddress).then((headers) => {
        sendFailure(request, reply.headers(headers), new Failure('NOT_FOUND', { cause: error }));
        ended(request, reply);
      });
    },
    clientErrorHandler: refuseMalformed(limitsOf),
  });
  const methods: Methods = methodsOf(app);
  // Bodies are read by the routes that want them, as streams.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));

  const ended = (request: FastifyRequest, reply: FastifyReply) => {
    const route = request.routeOptions.url ?? 'none';
    deps.telemetry.metrics.requestEnded(request.method, route, reply.statusCode, reply.elapsedTime / 1000);
    request.log.info({ method: request.method, route, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'request');
  };
  app.addHook('onRequest', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    deps.telemetry.loop.begin(route);
    reply.raw.once('close', () => {
      deps.telemetry.loop.end(route);
      // The framework has no hook for a client that leaves before the end of its answer.
      if (!reply.raw.writableFinished) ended(request, reply);
    });
    reply.headers(CORS_HEADERS).header('x-request-id', request.id);
    checkHost(request.raw);
  });
  answerPreflights(app, { path: UPLOADS_PATH, headers: tusAbilities(deps.service.settings.maxFileBytes) });
  answerWhatIsDurable(app, deps.jobs.durability);
  registerAdmission(app, deps);
  announceRetirements(app);
  app.addHook('onSend', async ({ raw }, reply) => {
    // The server does not wait for the end of a body that no route wanted, or of what follows a form: it may never come.
    if (!raw.complete && hasBody(raw)) reply.header('connection', 'close');
  });
  app.addHook('onResponse', async (request, reply) => ended(request, reply));
  app.addHook('onClose', () => deps.files.judge.close());
  const refuseUnknown = (request: FastifyRequest, reply: FastifyReply): FastifyReply | Promise<FastifyReply> => {
    const allowed = methods(request.url);
    // A mistyped address: the page says so, and leads on.
    if (allowed.length === 0 && page.send !== undefined && isForBrowser(request) && !OF_PROGRAMS.test(request.url))
      return page.send(request, reply.code(404).header('vary', 'Accept'));
    if (allowed.length === 0) return sendFailure(request, reply, new Failure('NOT_FOUND'));
    return sendFailure(request, reply, new Failure('METHOD_NOT_ALLOWED', { details: { allowed } }));
  };
  app.setErrorHandler(async (error, request, reply) => {
    // For a QUERY, the framework requires a Content-Type before it checks whether a route takes that method.
    if (request.is404 && !(error instanceof Failure)) return refuseUnknown(request, reply);
    const failure = failureOf(error, request);
    countRefused(deps, request, failure.status);
    return sendFailure(request, reply, failure);
  });
  app.setNotFoundHandler(refuseUnknown);

  const fetches = fetchesOf(app);
  convertRoute(app, deps, fetches);
  const sends = endDeleted(app, deps);
  batchRoutes(app, deps, sends, fetches);
  const buildTools = toolRoutes(app, deps, fetches);
  recipeRoutes(app, deps, fetches);
  uploadRoutes(app, deps);
  webhookKeysRoute(app, deps);
  jobListRoute(app, deps);
  jobRoutes(app, deps);
  outputRoute(app, deps, sends);
  namedOutputRoute(app, deps, sends);
  eventsRoute(app, deps);
  const buildFormats = formatsRoute(app, deps);
  limitsRoute(app, deps);
  healthRoutes(app, deps);
  const buildDocs = docsRoutes(app, deps);
  const page = pageRoutes(app, deps);
  entryRoutes(app, deps, page.sendStart);
  plainRoutes(app, deps, fetches, page.plain);
  mcpRoutes(app, deps);
  prepareAnswers(app, deps, [page.build, buildFormats, buildTools, buildDocs]);
  servePipelined(app.server, newConnectionTurns(), (remote) => deps.limits.identify(remote, undefined).key);
  holdBackBodies(app.server);
  watchConnections(app.server, limitsOf);
  answerHalfClosed(app.server);
  closeStalled(app.server, deps.service.settings.stalledMs);
  return app;
}
