/** `POST /api/v1/convert`: one file in, one job out; small ones are done when the answer comes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { hasEnded } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { inputKey } from '../../objects/keys.ts';
import { cancelJob } from '../cancel.ts';
import type { ApiParts } from '../parts.ts';
import { receive } from '../receive.ts';
import { baseOf, sendJob } from '../send-job.ts';
import { submit } from '../submit.ts';
import { linksOf } from '../view.ts';
import { waitForEnd } from '../wait.ts';

export function convertRoute(app: FastifyInstance, parts: ApiParts): void {
  app.post<{ Querystring: { download?: string } }>('/api/v1/convert', async (request, reply) => {
    if (parts.stopping.aborted) throw new Failure('OVERLOADED', { says: 'The service is about to stop: try again in a moment.' });
    const id = parts.newId();
    const received = await receive(request.raw, inputKey(id), parts.objects, parts.settings);
    parts.metrics.uploaded(received.sizeBytes);
    request.log.info({ job_id: id, bytes: received.sizeBytes }, 'a file was received');
    const record = await submit(parts, id, received).catch(async (error: unknown) => {
      await parts.objects.delete(inputKey(id));
      throw error;
    });
    const latest = await settled(parts, request, reply, record);
    if (latest.state === 'done' && isYes(request.query.download)) return reply.redirect(linksOf(baseOf(request, parts), id).output, 303);
    return sendJob(parts, request, reply, latest);
  });
}

/** The job as it is when the client is to be answered: at once, or after the wait that it may expect. */
async function settled(parts: ApiParts, request: FastifyRequest, reply: FastifyReply, record: JobRecord): Promise<JobRecord> {
  const { jobs, objects, settings, stopping } = parts;
  if (/(^|,)\s*respond-async\s*(,|;|$)/i.test(String(request.headers.prefer ?? ''))) {
    reply.header('preference-applied', 'respond-async');
    return record;
  }
  if (record.source.sizeBytes > settings.syncMaxBytes) return record;
  const { socket } = request.raw;
  const gone = new AbortController();
  const leave = () => gone.abort();
  if (socket.destroyed) leave();
  socket.once('close', leave);
  const latest = (await waitForEnd(jobs, record.id, settings.syncWaitMs, AbortSignal.any([gone.signal, stopping]))) ?? record;
  // The connection may carry many more requests: each would leave a listener.
  socket.off('close', leave);
  // Nobody else has heard the job's id: its result could never be fetched.
  if (gone.signal.aborted && !stopping.aborted) await cancelJob(parts, record.id);
  // Upkeep would do it too, later: there is no reason to keep the file until then.
  if (hasEnded(latest)) await objects.delete(inputKey(record.id));
  return latest;
}

const isYes = (value: string | undefined): boolean => value === '1' || value === 'true' || value === 'on';
