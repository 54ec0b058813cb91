/** Waits for a small job, then answers with it: most clients need only this one answer. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { hasEnded, isFetching } from '../../jobs/lifecycle.ts';
import { type JobRecord, sourceBytes } from '../../jobs/record.ts';
import type { ApiDeps } from '../deps.ts';
import { applied, prefersAsync } from '../http/preferences.ts';
import { deleteInputs } from '../intake/inputs.ts';
import { cancelJob } from '../jobs/cancel.ts';
import { baseOf, sendJob } from '../jobs/send.ts';
import { answersText } from '../jobs/text.ts';
import { linksOf, shown } from '../jobs/view.ts';
import { waitForEnd } from '../jobs/wait.ts';
import { onlyRecord, type SubmitAnswer, type SubmittedJobs } from './stages.ts';

/** How REST answers a request for one job. */
export function jobAnswer(
  deps: ApiDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  log: (record: JobRecord) => void,
): SubmitAnswer<FastifyReply> {
  return {
    find: async (id) => ({ records: [await findCreated(deps, id)] }),
    log: (submitted) => log(onlyRecord(submitted)),
    wait: async (submitted) => ({ ...submitted, records: [await wait(deps, { request, reply }, submitted)] }),
    respond(submitted) {
      noteReplay(reply, submitted);
      return respond(deps, request, reply, onlyRecord(submitted));
    },
  };
}

/** Tells a client that its `Idempotency-Key` led to what an earlier request created. */
export function noteReplay(reply: FastifyReply, { isReplayed }: SubmittedJobs): void {
  if (isReplayed) reply.header('idempotency-replayed', 'true');
}

/** The job of an earlier request. @throws Failure `JOB_EXPIRED`; `OVERLOADED` where that request has just taken it back */
async function findCreated({ jobs, clock }: Pick<ApiDeps, 'jobs' | 'clock'>, id: string): Promise<JobRecord> {
  const stored = await jobs.get(id);
  if (stored === undefined) throw new Failure('OVERLOADED');
  return shown(stored.record, clock());
}

/** The job as it is when the client is to be answered: at once, or after the wait that it may expect. */
async function wait(
  deps: ApiDeps,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  submitted: SubmittedJobs,
): Promise<JobRecord> {
  const { settings } = deps;
  const record = onlyRecord(submitted);
  const { mayReturn, waitedMs } = submitted;
  if (prefersAsync(request)) {
    applied(reply, 'respond-async');
    return record;
  }
  if (sourceBytes(record) > settings.syncMaxBytes) return record;
  const { socket } = request.raw;
  const gone = new AbortController();
  const leave = () => gone.abort();
  if (socket.destroyed) leave();
  socket.once('close', leave);
  try {
    return await waitForJob(deps, record, { waitMs: Math.max(0, settings.syncWaitMs - waitedMs), gone: gone.signal, mayReturn });
  } finally {
    // The connection may carry many more requests: each would leave a listener.
    socket.off('close', leave);
  }
}

interface Wait {
  readonly waitMs: number;
  /** Aborted when the client hangs up: the job is then cancelled, unless the client may return. */
  readonly gone: AbortSignal;
  readonly mayReturn?: boolean;
}

/** The job as it is when it has ended, when `waitMs` are over, or when the service is about to stop. */
export async function waitForJob(deps: ApiDeps, record: JobRecord, { waitMs, gone, mayReturn = false }: Wait): Promise<JobRecord> {
  const { jobs, objects, stopping } = deps;
  const found = await waitForEnd(jobs, record.id, waitMs, AbortSignal.any([gone, stopping]));
  // The request that created it answered with a refusal, and took it back.
  if (found === undefined && isFetching(record)) throw new Failure('OVERLOADED');
  const latest = found ?? record;
  // No client knows the job's id: its result could never be fetched.
  if (gone.aborted && !stopping.aborted && !mayReturn) await cancelJob(deps, record.id);
  // Where this fails, upkeep does it later: the client gets its result all the same.
  if (hasEnded(latest)) await deleteInputs(objects, record).catch(() => undefined);
  return latest;
}

/** Answers the request that created the job: with the job, or with a redirect to its output where `?download=1`, or another yes, asks for that. */
async function respond(deps: ApiDeps, request: FastifyRequest, reply: FastifyReply, record: JobRecord): Promise<FastifyReply> {
  const { download } = request.query as { readonly download?: unknown };
  if (record.state === 'done' && isYes(download) && !answersText(deps.catalog, record))
    return reply.redirect(linksOf(baseOf(request, deps), record.id).output, 303);
  return sendJob(deps, request, reply, record);
}

const isYes = (value: unknown): boolean => typeof value === 'string' && ['1', 'true', 'on', 'yes'].includes(value.trim().toLowerCase());
