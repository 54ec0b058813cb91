/** Rate limits for requests: identifies the client, admits or refuses it, and reports what is left of its limits. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import type { Limited } from '../../limits/account.ts';
import { headersOf } from '../../limits/answers/headers.ts';
import { limitRefusal } from '../../limits/answers/refusal.ts';
import type { Usage } from '../../limits/answers/usage.ts';
import type { Client } from '../../limits/clients/client.ts';
import { within } from '../../streams/deadline.ts';
import type { ApiDeps } from '../deps.ts';
import { limitFailure, type ReservedShare, reserve } from './share.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a request costs its client: `work` a share of the limits, which the route reserves; by default one of its reads per minute. */
    readonly costs?: 'work' | 'nothing';
    /** The protocol, unless it is REST: the headers of the answer report that protocol's limits. */
    readonly via?: 'mcp';
  }
  interface FastifyRequest {
    /** Who asks, and what the headers of the answer report; undefined until either is asked for. */
    admission?: Admission;
  }
}

interface Admission {
  readonly client: Client;
  tool?: string | undefined;
  usage?: Usage;
}

type Deps = Pick<ApiDeps, 'limits'>;

function admissionOf({ limits }: Deps, request: FastifyRequest): Admission {
  request.admission ??= { client: limits.identify(request.raw.socket.remoteAddress, request.headers['x-forwarded-for']) };
  return request.admission;
}

/** Refuses new work once the service is stopping, counts reads, and adds the limit headers to every answer. */
export function registerAdmission(app: FastifyInstance, deps: Pick<ApiDeps, 'limits' | 'service'>): void {
  const { limiter, flood } = deps.limits;
  app.decorateRequest('admission');
  app.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.costs === 'work') refuseWhileStopping(deps);
  });
  if (flood === undefined) return;
  app.addHook('onRequest', async (request) => {
    const { costs, via } = request.routeOptions.config;
    if (request.method === 'OPTIONS') return;
    if (costs === undefined || via === 'mcp') await countRead(deps, request);
    else if (costs === 'work') await refuseFlood(deps, request, flood.look(admissionOf(deps, request).client, deps.limits.clock()));
  });
  app.addHook('onSend', async (request, reply) => {
    const visit = admissionOf(deps, request);
    const usage = visit.usage ?? (await limiter.usage(visit.client));
    const mcp = request.routeOptions.config.via === 'mcp';
    reply.headers(headersOf(usage, { mcp, ...(visit.tool === undefined ? {} : { tool: visit.tool }) }));
  });
}

/** How long an answer waits for its limit headers where nothing else does, ms. */
const HEADERS_WITHIN_MS = 1_000;

/** The limit headers of an answer that meets no hook: of what is no HTTP, nothing but the other end of the connection is known. */
export async function limitHeadersFor({ limits }: Deps, remote: string | undefined): Promise<Readonly<Record<string, string>>> {
  const { flood, limiter, identify } = limits;
  if (flood === undefined) return {};
  const late = () => new Error('the limits were not read in time');
  // Without them the answer is still one.
  return within(HEADERS_WITHIN_MS, undefined, late, async () => headersOf(await limiter.usage(identify(remote, undefined)))).catch(
    () => ({}),
  );
}

/** Also refuses while the only worker cannot work. @throws Failure `OVERLOADED` */
export function refuseWhileStopping({ service: { stopping, fault } }: Pick<ApiDeps, 'service'>): void {
  if (stopping.aborted) throw new Failure('OVERLOADED', { says: 'The service is shutting down: try again in a moment.' });
  const why = fault?.();
  if (why !== undefined)
    throw new Failure('OVERLOADED', { says: 'The service cannot convert at the moment: try again later.', cause: new Error(why.message) });
}

/** For what is stored and creates no job. @throws Failure `OVERLOADED` */
export function refuseWhenFull({ service: { fault } }: Pick<ApiDeps, 'service'>): void {
  const why = fault?.();
  if (why?.reason !== 'disk_full') return;
  throw new Failure('OVERLOADED', {
    says: 'The service has no room for files at the moment: try again later.',
    cause: new Error(why.message),
  });
}

/** Counts one read, or one MCP message. @throws Failure `RATE_LIMITED` */
export async function countRead(deps: Deps, request: FastifyRequest): Promise<void> {
  const { flood, assistantFlood } = deps.limits;
  const guard = request.routeOptions.config.via === 'mcp' ? assistantFlood : flood;
  await refuseFlood(deps, request, guard?.take(admissionOf(deps, request).client, deps.limits.clock()));
}

/** A refused request for work cost an answer, and perhaps the reading of its body: it counts as a read. */
export function countRefused(deps: Deps, request: FastifyRequest, status: number): void {
  if (request.routeOptions.config.costs === 'work' && status >= 400 && status < 500)
    deps.limits.flood?.take(admissionOf(deps, request).client, deps.limits.clock());
}

async function refuseFlood(deps: Deps, request: FastifyRequest, flooded: Limited<'flood'> | undefined): Promise<void> {
  if (flooded === undefined) return;
  const visit = admissionOf(deps, request);
  visit.usage = await deps.limits.limiter.usage(visit.client);
  throw limitFailure(limitRefusal(flooded, visit.usage, deps.limits.clock()));
}

/** Whether a call of this client could be admitted, judged before its body is read. */
export async function mayCall(deps: Deps, request: FastifyRequest): Promise<boolean> {
  const { enforced, banExpiresAt, mcp } = await deps.limits.limiter.usage(admissionOf(deps, request).client);
  return !enforced || (banExpiresAt === undefined && mcp.remaining > 0);
}

/** Counts a call that is refused unread. @returns the refusal */
export async function refuseCall(deps: Pick<ApiDeps, 'limits' | 'service'>, request: FastifyRequest): Promise<Failure> {
  const { limiter } = deps.limits;
  const decided = await limiter.reserve(admissionOf(deps, request).client, { via: 'mcp', jobs: [deps.service.newId()] });
  if (!decided.granted) return limitFailure(decided);
  // Its window has ended since it was refused.
  await limiter.refund(decided.reservation);
  return new Failure('OVERLOADED');
}

/** The answer reports this tool's limits too, even where the request is refused. */
export function noteTool(deps: Deps, request: FastifyRequest, tool: string): void {
  admissionOf(deps, request).tool = tool;
}

/** Reserves a share of the limits for these jobs, before the body is read; the answer reports what is left. @throws Failure `RATE_LIMITED`, `BANNED` */
export function reserveShare(deps: Deps, request: FastifyRequest, jobs: readonly string[], tool?: string): Promise<ReservedShare> {
  const visit = admissionOf(deps, request);
  visit.tool = tool;
  const note = (usage: Usage) => {
    visit.usage = usage;
  };
  return reserve(deps.limits.limiter, visit.client, { via: 'rest', jobs, ...(tool === undefined ? {} : { tool }) }, note);
}

export const clientOf = (deps: Deps, request: FastifyRequest): Client => admissionOf(deps, request).client;
