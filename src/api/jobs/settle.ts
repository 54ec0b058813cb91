/** Small jobs are waited for: the first answer is then the last one that a client needs. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasEnded } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { ApiDeps } from '../deps.ts';
import { deleteInputs } from '../intake/inputs.ts';
import { answersText } from '../outputs/text.ts';
import { cancelJob } from './cancel.ts';
import { baseOf, sendJob } from './send.ts';
import { linksOf } from './view.ts';
import { waitForEnd } from './wait.ts';

/**
 * Answers the request that made the job: with the job, or with the way to its output where `?download=1` asks for that.
 * @param mayReturn the client can find the job again although it was never told its id: it goes on when the client has gone
 */
export async function answerWhenSettled(deps: ApiDeps, request: FastifyRequest, reply: FastifyReply, record: JobRecord, mayReturn = false) {
  const latest = await settled(deps, request, reply, record, mayReturn);
  const { download } = request.query as { readonly download?: unknown };
  if (latest.state === 'done' && isYes(download) && !answersText(deps.catalog, latest))
    return reply.redirect(linksOf(baseOf(request, deps), record.id).output, 303);
  return sendJob(deps, request, reply, latest);
}

/** The job as it is when the client is to be answered: at once, or after the wait that it may expect. */
async function settled(
  deps: ApiDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  record: JobRecord,
  mayReturn: boolean,
): Promise<JobRecord> {
  const { settings } = deps;
  if (/(^|,)\s*respond-async\s*(,|;|$)/i.test(String(request.headers.prefer ?? ''))) {
    reply.header('preference-applied', 'respond-async');
    return record;
  }
  if (record.sources.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) > settings.syncMaxBytes) return record;
  const { socket } = request.raw;
  const gone = new AbortController();
  const leave = () => gone.abort();
  if (socket.destroyed) leave();
  socket.once('close', leave);
  try {
    return await settledWithin(deps, record, settings.syncWaitMs, gone.signal, mayReturn);
  } finally {
    // The connection may carry many more requests: each would leave a listener.
    socket.off('close', leave);
  }
}

/**
 * The job as it is when it has ended, when `waitMs` are over, or when the service is about to stop.
 * @param gone aborted when the client is: the job is then cancelled, unless `mayReturn`
 */
export async function settledWithin(
  deps: ApiDeps,
  record: JobRecord,
  waitMs: number,
  gone: AbortSignal,
  mayReturn = false,
): Promise<JobRecord> {
  const { jobs, objects, stopping } = deps;
  const latest = (await waitForEnd(jobs, record.id, waitMs, AbortSignal.any([gone, stopping]))) ?? record;
  // Nobody else has heard the job's id: its result could never be fetched.
  if (gone.aborted && !stopping.aborted && !mayReturn) await cancelJob(deps, record.id);
  // Upkeep does it too, later: there is no reason to keep the file until then, nor one to keep a result from its client.
  if (hasEnded(latest)) await deleteInputs(objects, record).catch(() => undefined);
  return latest;
}

const isYes = (value: unknown): boolean => value === '1' || value === 'true' || value === 'on';
