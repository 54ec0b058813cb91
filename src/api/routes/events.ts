/** `GET /api/v1/jobs/{id}/events`: how a job goes on, as server-sent events (WHATWG HTML, "Server-sent events"). */
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { hasEnded } from '../../jobs/lifecycle.ts';
import type { ApiParts } from '../parts.ts';
import { baseOf, bodyOf } from '../send-job.ts';
import { shown } from '../view.ts';
import { findJob } from './job.ts';

/** Proxies close what is silent for long; and a hint may be lost, so everybody looks again then, ms. */
const COMMENT_MS = 15_000;
/** `Last-Event-ID` of whoever has heard the end: `204` tells an EventSource not to come back. */
const LAST = 'end';

export function eventsRoute(app: FastifyInstance, parts: ApiParts): void {
  const streams = new Set<{ look(): void; close(): void }>();
  const timer = setInterval(() => {
    for (const stream of streams) stream.look();
  }, COMMENT_MS);
  const closeAll = () => {
    clearInterval(timer);
    for (const stream of streams) stream.close();
  };
  // Nobody who listens may hold the end of the service up: they come back to whoever serves next.
  parts.stopping.addEventListener('abort', closeAll, { once: true });
  app.addHook('onClose', async () => closeAll());

  app.get<{ Params: { id: string } }>('/api/v1/jobs/:id/events', { exposeHeadRoute: false }, async (request, reply) => {
    const { id } = request.params;
    const first = shown(await findJob(parts, id), parts.clock());
    if (request.headers['last-event-id'] === LAST && hasEnded(first)) return reply.code(204).send();
    const { stream, handle } = follow(parts, id, baseOf(request, parts), request.id);
    streams.add(handle);
    stream.once('close', () => streams.delete(handle));
    handle.look();
    return reply
      .headers({ 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
      .send(stream);
  });
}

function follow(parts: ApiParts, id: string, base: string, requestId: string) {
  const stream = new Readable({ read() {} });
  let told = '';
  let over = false;
  let looking = false;
  let again = false;

  const tell = (event: 'progress' | 'done' | 'failed', eventId: string, body: object) => {
    const line = `event: ${event}\nid: ${eventId}\ndata: ${JSON.stringify(body)}\n\n`;
    stream.push(line === told ? ':\n\n' : line);
    told = line;
  };
  const close = () => {
    if (!over) stream.push(null);
    over = true;
  };

  const look = async (): Promise<void> => {
    const found = await findJob(parts, id);
    if (over) return;
    // Deleted by its owner, or gone: the next request is told so.
    if (found === undefined || found.state === 'cancelled') return close();
    const body = await bodyOf(parts, base, requestId, found);
    if (over) return;
    if (!hasEnded(found)) return tell('progress', `at-${parts.signals.lastProgress(id) ?? 'start'}`, body);
    tell(found.state === 'done' ? 'done' : 'failed', LAST, body);
    close();
  };
  /** One look at a time, and one more for whatever came meanwhile. */
  const lookSoon = () => {
    again = true;
    if (looking) return;
    looking = true;
    void (async () => {
      try {
        while (again && !over) {
          again = false;
          await look();
        }
      } catch (error) {
        stream.destroy(error as Error);
      } finally {
        looking = false;
      }
    })();
  };
  const unwatch = parts.jobs.watch(id, lookSoon);
  const deafen = parts.signals.onProgress(id, lookSoon);
  stream.once('close', () => {
    over = true;
    unwatch();
    deafen();
  });
  return { stream, handle: { look: lookSoon, close } };
}
