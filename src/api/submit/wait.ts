/** How long a client waits for its answer: until its jobs have ended, its time is over, or it hangs up. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { hasEnded, isFetching } from '../../jobs/lifecycle.ts';
import { type JobRecord, sourceBytes } from '../../jobs/record.ts';
import { onAbort } from '../../streams/abort.ts';
import type { ApiDeps } from '../deps.ts';
import { hangUpOf } from '../http/connections/hang-up.ts';
import { prefersAsync } from '../http/preferences.ts';
import { deleteInputs } from '../intake/inputs.ts';
import { cancelJob } from '../jobs/cancel.ts';
import { waitForEnd } from '../jobs/wait.ts';
import type { ClientWait } from './stages.ts';

/** How long a REST request waits, unless it prefers not to. */
export function restWait(
  { service: { settings } }: Pick<ApiDeps, 'service'>,
  request: FastifyRequest,
  reply: FastifyReply,
  waitsFor: ClientWait['for'],
): ClientWait {
  const { syncWaitMs: ms, syncMaxBytes: mostBytes } = settings;
  return { for: prefersAsync(request) ? 'nothing' : waitsFor, ms, mostBytes, gone: hangUpOf(request, reply) };
}

/** For work without a client that waits. */
export const NO_WAIT: ClientWait = { for: 'nothing', ms: 0, gone: new AbortController().signal };

/** A wait that has begun. */
export interface Waiting extends ClientWait {
  readonly dueAt: number;
  /** A client with a key, or one that is sent its job, learns of what it has begun after it has hung up. */
  readonly hasIdempotencyKey: boolean;
}

export const startWait = (wait: ClientWait, { hasIdempotencyKey }: Pick<Waiting, 'hasIdempotencyKey'>): Waiting => ({
  ...wait,
  dueAt: Math.min(wait.dueAt ?? Number.POSITIVE_INFINITY, performance.now() + wait.ms),
  hasIdempotencyKey,
});

/** @param left called when the client hangs up @returns what the work returns; undefined where the client is to be answered before */
export async function whileClientWaits<T>(work: Promise<T>, waiting: Waiting, left: () => void): Promise<T | undefined> {
  // What goes on with it handles its failure.
  work.catch(() => undefined);
  if (waiting.for === 'nothing') return undefined;
  const over = Promise.withResolvers<undefined>();
  const timer = setTimeout(over.resolve, Math.max(0, waiting.dueAt - performance.now()), undefined);
  const unsubscribe = onAbort(waiting.gone, left);
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
    unsubscribe();
  }
}

/** @returns the jobs as they are when the client is to be answered */
export async function untilAnswered(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'service'>,
  records: readonly JobRecord[],
  waiting: Waiting,
): Promise<readonly JobRecord[]> {
  const { mostBytes = Number.POSITIVE_INFINITY, onEnd } = waiting;
  if (waiting.for !== 'end') return records;
  const latest: JobRecord[] = [];
  for (const record of records) {
    latest.push(hasEnded(record) || sourceBytes(record) > mostBytes ? record : await untilEnded(deps, record, waiting));
    onEnd?.(latest.length, records.length);
  }
  return latest;
}

/** The job as it is when it has ended, when the wait is over, or when the service is about to stop. */
async function untilEnded(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'service'>,
  record: JobRecord,
  { dueAt, gone, hasIdempotencyKey }: Waiting,
): Promise<JobRecord> {
  const { stopping } = deps.service;
  const waitMs = Math.max(0, dueAt - performance.now());
  const found = await waitForEnd(deps.jobs.store, record.id, waitMs, AbortSignal.any([gone, stopping]));
  // The request that created it answered with a refusal, and took it back.
  if (found === undefined && isFetching(record)) throw new Failure('OVERLOADED');
  const latest = found ?? record;
  // No client knows the job's id: its result could never be fetched.
  if (gone.aborted && !stopping.aborted && !hasIdempotencyKey) await cancelJob(deps, record.id);
  // Where this fails, upkeep does it later: the client gets its result all the same.
  if (hasEnded(latest)) await deleteInputs(deps.files.objects, record).catch(() => undefined);
  return latest;
}
