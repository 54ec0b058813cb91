/** Limits at the door: who asks, whether it may, and what it is told of what is left. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '../errors.ts';
import type { Limited } from '../limits/account.ts';
import type { Client } from '../limits/client.ts';
import { headersOf } from '../limits/headers.ts';
import type { Reservation } from '../limits/limiter.ts';
import { type Refused, refusal } from '../limits/refusal.ts';
import type { Usage } from '../limits/usage.ts';
import type { ApiParts } from './parts.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a request costs its client: a share of the limits, which the route reserves; nothing; or, unless said otherwise, one of the reads of a minute. */
    readonly costs?: 'work' | 'nothing';
    /** Where it was asked, unless by REST: which limits its answer speaks of. */
    readonly via?: 'mcp';
  }
}

interface Visit {
  readonly client: Client;
  tool?: string | undefined;
  reservation?: Reservation;
  usage?: Usage;
}

/** Ends after which a client has its share back: nothing was done for it. */
export const GIVEN_BACK: ReadonlySet<number> = new Set([400, 413, 415, 501, 503]);
const visits = new WeakMap<FastifyRequest, Visit>();

type Parts = Pick<ApiParts, 'limits' | 'clock' | 'stopping' | 'fault'>;

function visitOf({ limits }: Parts, request: FastifyRequest): Visit {
  const known = visits.get(request);
  if (known !== undefined) return known;
  const visit = { client: limits.identify(request.raw.socket.remoteAddress, request.headers['x-forwarded-for']) };
  visits.set(request, visit);
  return visit;
}

/** Takes no new work once the service is about to stop, counts reads, and tells everybody how they stand. */
export function watchDoor(app: FastifyInstance, parts: Parts): void {
  const { limiter, flood } = parts.limits;
  app.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.costs === 'work') refuseWhileStopping(parts);
  });
  if (flood === undefined) return;
  app.addHook('onRequest', async (request) => {
    const { costs, via } = request.routeOptions.config;
    if (request.method === 'OPTIONS') return;
    if (costs === undefined || via === 'mcp') await countRead(parts, request);
    else if (costs === 'work') await refuseFlood(parts, request, flood.look(visitOf(parts, request).client, parts.clock()));
  });
  app.addHook('onSend', async (request, reply) => {
    const visit = visitOf(parts, request);
    const usage = visit.usage ?? (await limiter.usage(visit.client));
    const mcp = request.routeOptions.config.via === 'mcp';
    reply.headers(headersOf(usage, { mcp, ...(visit.tool === undefined ? {} : { tool: visit.tool }) }));
  });
}

/** Also while the only worker that there is cannot work. @throws Failure `OVERLOADED` */
export function refuseWhileStopping({ stopping, fault }: Pick<Parts, 'stopping' | 'fault'>): void {
  if (stopping.aborted) throw new Failure('OVERLOADED', { says: 'The service is about to stop: try again in a moment.' });
  const why = fault?.();
  if (why !== undefined)
    throw new Failure('OVERLOADED', { says: 'The service cannot convert at the moment: try again later.', cause: new Error(why.message) });
}

/** One of the reads of a minute, or of the messages of assistants. @throws Failure `RATE_LIMITED` */
export async function countRead(parts: Parts, request: FastifyRequest): Promise<void> {
  const { flood, assistantFlood } = parts.limits;
  const guard = request.routeOptions.config.via === 'mcp' ? assistantFlood : flood;
  await refuseFlood(parts, request, guard?.take(visitOf(parts, request).client, parts.clock()));
}

/** A request for work that was refused cost us an answer, and perhaps the reading of its body: it counts like a read. */
export function countRefused(parts: Parts, request: FastifyRequest, status: number): void {
  if (request.routeOptions.config.costs === 'work' && status >= 400 && status < 500)
    parts.limits.flood?.take(visitOf(parts, request).client, parts.clock());
}

async function refuseFlood(parts: Parts, request: FastifyRequest, flooded: Limited<'flood'> | undefined): Promise<void> {
  if (flooded === undefined) return;
  const visit = visitOf(parts, request);
  visit.usage = await parts.limits.limiter.usage(visit.client);
  throw failureOf(refusal(flooded, visit.usage, parts.clock()));
}

/** Whether a call of this client could be admitted, as far as its headers tell. */
export async function mayCall(parts: Parts, request: FastifyRequest): Promise<boolean> {
  const { enforced, banExpiresAt, mcp } = await parts.limits.limiter.usage(visitOf(parts, request).client);
  return !enforced || (banExpiresAt === undefined && mcp.remaining > 0);
}

/** Counts a call that could not be admitted before it was read. @returns how it is refused */
export async function refuseCall(parts: Parts & Pick<ApiParts, 'newId'>, request: FastifyRequest): Promise<Failure> {
  const { limiter } = parts.limits;
  const decided = await limiter.reserve(visitOf(parts, request).client, { via: 'mcp', jobs: [parts.newId()] });
  if (!decided.granted) return failureOf(decided);
  // Its window has ended in this very moment.
  await limiter.refund(decided.reservation);
  return new Failure('OVERLOADED');
}

/** The answer speaks of this tool's limits too, whatever becomes of the request. */
export function noteTool(parts: Parts, request: FastifyRequest, tool: string): void {
  visitOf(parts, request).tool = tool;
}

/** Takes a share for work that is to be made, before its body is read. @throws Failure `RATE_LIMITED`, `BANNED` */
export async function admit(parts: Parts, request: FastifyRequest, jobs: readonly string[], tool?: string): Promise<void> {
  const visit = visitOf(parts, request);
  visit.tool = tool;
  const decided = await parts.limits.limiter.reserve(visit.client, { via: 'rest', jobs, ...(tool === undefined ? {} : { tool }) });
  visit.usage = decided.usage;
  if (!decided.granted) throw failureOf(decided);
  visit.reservation = decided.reservation;
}

/** The request makes these jobs too. @throws Failure `RATE_LIMITED`; then nothing of it is left reserved */
export async function admitMore(parts: Parts, request: FastifyRequest, jobs: readonly string[]): Promise<void> {
  const visit = visitOf(parts, request);
  if (visit.reservation === undefined || jobs.length === 0) return;
  const decided = await parts.limits.limiter.enlarge(visit.reservation, jobs);
  visit.usage = decided.usage;
  if (!decided.granted) throw failureOf(decided);
  visit.reservation = decided.reservation;
}

/** What was reserved is the client's again: the work was not begun. */
export async function giveBack(parts: Parts, request: FastifyRequest): Promise<void> {
  const visit = visits.get(request);
  if (visit?.reservation !== undefined) visit.usage = await parts.limits.limiter.refund(visit.reservation);
}

/** @param status of a refusal */
export async function giveBackAfter(parts: Parts, request: FastifyRequest, status: number): Promise<void> {
  if (GIVEN_BACK.has(status)) await giveBack(parts, request);
}

export const clientOf = (parts: Parts, request: FastifyRequest): Client => visitOf(parts, request).client;

export const failureOf = ({ code, says, details, retryAfterSeconds }: Refused): Failure =>
  new Failure(code, { says, details, retryAfter: retryAfterSeconds });
