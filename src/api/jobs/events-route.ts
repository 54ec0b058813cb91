/** `GET /api/v1/jobs/{id}/events`: how a job goes on, as server-sent events (WHATWG HTML, "Server-sent events"). */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { hasEnded } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { onAbort } from '../../streams/abort.ts';
import { clientOf } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { findJob } from './found.ts';
import { readsOf } from './reads.ts';
import { baseOf, bodyOf } from './send.ts';
import { shown } from './view.ts';

/** Proxies close what is silent for long, ms. */
const COMMENT_MS = 15_000;
const COMMENT = ':\n\n';
/** `Last-Event-ID` of a client that has the last event: `204` stops an EventSource from reconnecting. */
const LAST = 'end';

const EVENT_STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no' };

interface Followed {
  readonly stream: Readable;
  close(): void;
}

export function eventsRoute(app: FastifyInstance, deps: Omit<ApiDeps, 'telemetry'>): void {
  const streams = new Set<Followed>();
  const ofClients = new Map<string, number>();
  const timer = setInterval(() => {
    for (const { stream } of streams) if (stream.readableLength === 0) stream.push(COMMENT);
  }, COMMENT_MS);
  const closeAll = () => {
    clearInterval(timer);
    for (const stream of streams) stream.close();
  };
  // Open streams must not delay the stop of the service: clients reconnect to another replica.
  const unsubscribe = onAbort(deps.service.stopping, closeAll);
  app.addHook('onClose', async () => {
    unsubscribe();
    closeAll();
  });

  app.get<{ Params: { id: string } }>('/api/v1/jobs/:id/events', async (request, reply) => {
    const { id } = request.params;
    const first = shown(await findJob(deps, id), deps.jobs.clock());
    if (request.headers['last-event-id'] === LAST && hasEnded(first)) return reply.code(204).send();
    // Without a payload fastify would send a length of 0.
    if (request.method === 'HEAD') return reply.headers(EVENT_STREAM).send(Readable.from([]));
    const { key, multiple } = clientOf(deps, request);
    const { perClient, total } = deps.service.settings.events;
    if (streams.size >= total) throw new Failure('OVERLOADED', { says: 'Too many event streams are open: poll the job instead.' });
    // Where limits are switched off, this one is, too.
    if (deps.limits.flood !== undefined && (ofClients.get(key) ?? 0) >= perClient * multiple) throw await tooManyStreams(deps, request);
    const followed = follow(deps, id, baseOf(request, deps), request.id);
    const { stream } = followed;
    streams.add(followed);
    ofClients.set(key, (ofClients.get(key) ?? 0) + 1);
    stream.once('close', () => {
      streams.delete(followed);
      const left = (ofClients.get(key) ?? 1) - 1;
      if (left > 0) ofClients.set(key, left);
      else ofClients.delete(key);
    });
    return reply.headers(EVENT_STREAM).send(stream);
  });
}

/** The refusal of one stream more than a client may have open. */
export async function tooManyStreams(deps: Pick<ApiDeps, 'limits' | 'service'>, request: FastifyRequest): Promise<Failure> {
  const client = clientOf(deps, request);
  const limit = deps.service.settings.events.perClient * client.multiple;
  const { rejectionsLastHour } = await deps.limits.limiter.usage(client);
  return new Failure('RATE_LIMITED', {
    says: `At most ${limit} event streams may be open at once: close one, or poll the job instead.`,
    details: { tier: 'events', limit, reset_seconds: RETRY_SECONDS, rejections_last_hour: rejectionsLastHour },
    retryAfter: RETRY_SECONDS,
  });
}

/** A stream may end at any moment: its job does. */
const RETRY_SECONDS = 5;

function follow(deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue'>, id: string, base: string, requestId: string): Followed {
  const stream = new Readable({ read() {} });
  let told = '';
  let over = false;
  let isTelling = false;
  const waiting: (JobRecord | undefined)[] = [];

  const close = () => {
    if (!over) stream.push(null);
    over = true;
  };

  const send = (event: 'progress' | 'done' | 'failed', eventId: string, body: object) => {
    const line = `event: ${event}\nid: ${eventId}\ndata: ${JSON.stringify(body)}\n\n`;
    if (line !== told) stream.push(line);
    told = line;
  };

  const tellOf = async (record: JobRecord | undefined): Promise<void> => {
    // Deleted or expired: the client's next request gets the reason.
    if (record === undefined || record.state === 'cancelled') return close();
    const body = await bodyOf(deps, base, requestId, record);
    if (over) return;
    if (!hasEnded(record)) return send('progress', `at-${deps.jobs.signals.lastProgress(id) ?? 'start'}`, body);
    send(record.state === 'done' ? 'done' : 'failed', LAST, body);
    close();
  };
  /** Sends one record after the other; of those that arrive meanwhile, only the latest. */
  const tellSoon = async (record: JobRecord | undefined): Promise<void> => {
    waiting.push(record);
    if (isTelling) return;
    isTelling = true;
    try {
      while (waiting.length > 0 && !over) await tellOf(waiting.splice(0).at(-1));
    } catch (error) {
      stream.destroy(error as Error);
    } finally {
      isTelling = false;
    }
  };

  const reads = readsOf(deps.jobs.store);
  const unsubscribeReads = reads.subscribe(id, {
    read: (record) => void tellSoon(record),
    failed: (error) => void stream.destroy(error as Error),
  });
  const unsubscribeProgress = deps.jobs.signals.onProgress(id, () => reads.refresh(id));
  stream.once('close', () => {
    over = true;
    unsubscribeReads();
    unsubscribeProgress();
  });
  return { stream, close };
}
