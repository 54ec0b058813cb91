/** `POST /mcp`: JSON-RPC 2.0 for AI assistants over Streamable HTTP, in four versions of the Model Context Protocol, without sessions. */
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isRecord } from '../../contracts/json.ts';
import { Failure } from '../../errors.ts';
import { onAbort } from '../../streams/abort.ts';
import { clientOf, countRead, mayCall, refuseCall } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { failureOf } from '../http/problem.ts';
import { NotAdmitted, noMemoryInUse, readBody, SMALL_BYTES } from './protocol/body.ts';
import { serveCard } from './protocol/card.ts';
import { type Arrived, type Exchanges, exchanges, isStream } from './protocol/exchange.ts';
import { checkHosts } from './protocol/hosts.ts';
import { INVALID_REQUEST, idOf, Malformed, refusalOf, refuse, rememberId } from './protocol/refusal.ts';
import type { Served } from './protocol/served.ts';
import { ownTools } from './surface.ts';

/** The one version with batches had no header to name it. */
const VERSION_WITH_BATCHES = '2025-03-26';
const MOST_IN_BATCH = 20;

export function mcpRoutes(app: FastifyInstance, deps: ApiDeps): void {
  serveCard(app, deps);
  serveMcp(app, deps, '/mcp', ownTools(deps));
}

/** @param served the tools at this address */
export function serveMcp(app: FastifyInstance, deps: Pick<ApiDeps, 'limits' | 'telemetry' | 'service'>, url: string, served: Served): void {
  const { settings } = deps.service;
  const held = noMemoryInUse();
  const talk = exchanges(deps, served);
  app.addHook('onClose', () => talk.close());
  const shared = {
    url,
    config: { costs: 'nothing', via: 'mcp' },
    onRequest: async (request: FastifyRequest) => checkHosts(request, settings),
    errorHandler: refuse,
  } as const;

  app.route({
    ...shared,
    method: ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'],
    handler: async () => {
      throw new Failure('METHOD_NOT_ALLOWED', { details: { allowed: ['POST'] } });
    },
  });

  app.route({
    ...shared,
    method: 'POST',
    handler: async (request, reply) => {
      const { json, streams } = accepted(request.headers.accept);
      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort(new Error('the client went away')));
      const reader = { client: clientOf(deps, request), mayWork: isSmall(request) || (await mayCall(deps, request)) };
      const { message, release } = await readBody(request.raw, reader, settings, held).catch(async (error: unknown) => {
        throw error instanceof NotAdmitted ? await refuseCall(deps, request) : error;
      });
      onAbort(gone.signal, release);
      rememberId(request, message);
      const arrived = { streams: streams && (!json || asksForProgress(message)), gone: gone.signal, release };
      return Array.isArray(message)
        ? answerBatch(deps, talk, request, reply, message, arrived)
        : send(reply, await talk.answer(request, message, arrived));
    },
  });
}

/** A body too short to hold a file is read from any client. */
const isSmall = ({ headers }: FastifyRequest): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= SMALL_BYTES;

/** Several messages in one request, each counted and answered as if it were alone, and begun in a separate turn of the event loop. */
async function answerBatch(
  deps: Pick<ApiDeps, 'limits'>,
  talk: Exchanges,
  request: FastifyRequest,
  reply: FastifyReply,
  messages: readonly unknown[],
  { gone }: Arrived,
): Promise<FastifyReply> {
  const version = request.headers['mcp-protocol-version'] ?? VERSION_WITH_BATCHES;
  if (version !== VERSION_WITH_BATCHES) throw new Malformed(INVALID_REQUEST, 'This protocol version does not support batches.');
  if (messages.length === 0 || messages.length > MOST_IN_BATCH)
    throw new Malformed(INVALID_REQUEST, `A batch must have 1 to ${MOST_IN_BATCH} messages.`);
  if (messages.some((message) => Array.isArray(message) || (isRecord(message) && message['method'] === 'initialize')))
    throw new Malformed(INVALID_REQUEST, 'A batch must not contain a batch or initialize.');
  const answerOne = async (message: unknown, at: number) => {
    try {
      // The first was counted with the request.
      if (at > 0) await countRead(deps, request);
      const response = await talk.answer(request, message, { streams: false, gone, release: () => {} });
      return response.body === null ? undefined : ((await response.json()) as object);
    } catch (error) {
      return refusalOf(failureOf(error, request), request.id, idOf(message));
    }
  };
  const answering: Promise<object | undefined>[] = [];
  for (const [at, message] of messages.entries()) {
    if (at > 0) await setImmediate();
    answering.push(answerOne(message, at));
  }
  const said = (await Promise.all(answering)).filter((answer) => answer !== undefined);
  return said.length === 0 ? reply.code(202).send() : reply.send(said);
}

async function send(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  reply.code(response.status);
  for (const name of ['content-type', 'cache-control', 'x-accel-buffering', 'allow']) {
    const value = response.headers.get(name);
    if (value !== null) reply.header(name, value);
  }
  if (response.body === null) return reply.send();
  return reply.send(isStream(response) ? Readable.fromWeb(response.body) : await response.text());
}

/** Without an Accept header anything is accepted (RFC 9110 §12.5.1). @throws Failure `NOT_ACCEPTABLE` */
function accepted(accept: string | undefined): { readonly json: boolean; readonly streams: boolean } {
  const ranges = (accept ?? '*/*').split(',').map((range) => (range.split(';')[0] ?? '').trim().toLowerCase());
  const takes = (type: string) => ['*/*', `${type.split('/')[0]}/*`, type].some((range) => ranges.includes(range));
  const [json, streams] = [takes('application/json'), takes('text/event-stream')];
  if (!json && !streams) throw new Failure('NOT_ACCEPTABLE');
  return { json, streams };
}

function asksForProgress(message: unknown): boolean {
  const params = isRecord(message) ? message['params'] : undefined;
  const meta = isRecord(params) ? params['_meta'] : undefined;
  return isRecord(meta) && meta['progressToken'] !== undefined;
}
