/** Jobs whose files are fetched by URL: the record comes first, then the files, and a fetch that fails fails its job (docs/decisions/0031). */
import { cleanName } from '../../catalog/names.ts';
import { Failure, RevisionConflict } from '../../errors.ts';
import { sentName } from '../../fetch/download/name.ts';
import { FETCHING, fail, fetched, hasEnded, isFetching, newRecord } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { updateRecord } from '../../jobs/update.ts';
import { mapConcurrently } from '../../streams/concurrency.ts';
import type { ApiDeps } from '../deps.ts';
import { failureOf } from '../http/problem.ts';
import { removeAfterFailure } from '../intake/inputs.ts';
import { FILES_AT_ONCE, type FileToFetch, fetchAll } from '../intake/references.ts';
import { cancelJob } from '../jobs/cancel.ts';
import { reasonFor } from '../jobs/refused.ts';
import { type CreatedJob, enqueue } from './enqueue.ts';
import type { Fetches } from './fetches.ts';
import { type Ids, type JobPlan, keyOf } from './stages.ts';
import { untilAborted } from './until-aborted.ts';
import { type Waiting, whileClientWaits } from './wait.ts';

/** For all files of a job, ms; each download has its own limits. After a longer time upkeep takes a fetch for lost. */
const MOST_MS = 15 * 60_000;

/** Length of a URL that names a job until its file has arrived, characters. */
const MOST_URL = 8_192;

/** One job's fetch. */
interface Fetching {
  /** Created from the plan. */
  readonly job: CreatedJob;
  readonly plan: JobPlan<FileToFetch>;
  readonly ids: Ids;
  /** The client's key, whose share of the pool the job counts towards. */
  readonly client: string;
}

/** The record of a job whose files are to be fetched: what is known before. */
export function draftOf({ id, files, known }: JobPlan<FileToFetch>, now: number): JobRecord {
  const url = URL.parse(files[0]?.url.slice(0, MOST_URL) ?? '');
  return {
    ...newRecord(id, now),
    pool: FETCHING,
    filename: cleanName(url === null ? '' : sentName(undefined, url)),
    sources: files.map(({ part }) => ({ part, sizeBytes: 0, format: 'unknown' })),
    options: {},
    ...known,
    warnings: [],
  };
}

/**
 * Fetches and enqueues one job.
 * @returns the queued job, or one that is still fetched when the client is to be answered
 * @throws Failure where the fetch fails before: it is the answer, and nothing is left
 */
export async function fetchOne(
  deps: Omit<ApiDeps, 'limits'>,
  [fetching]: readonly Fetching[],
  fetches: Fetches,
  waiting: Waiting,
): Promise<readonly JobRecord[]> {
  if (fetching === undefined) throw new Error('a request for one job has none');
  const gone = new AbortController();
  const work = fetches.begin(fetching.client, () => fetchJob(deps, fetching, gone.signal));
  const queued = await whileClientWaits(work, waiting, () => {
    if (!waiting.hasIdempotencyKey) gone.abort(waiting.gone.reason);
  });
  if (queued === undefined) void fetches.track(work.catch((error: unknown) => failFetch(deps, fetching, error)));
  return [queued ?? fetching.job.stored.record];
}

/** The fetches of a batch. */
interface BatchFetch {
  /** Resolves when each of its files was fetched, or refused. */
  readonly ended: Promise<unknown>;
  readonly cancel: () => void;
}

/**
 * Begins to fetch and enqueue the jobs of a batch, each alone: a file that cannot be fetched fails its job.
 * @throws Failure `OVERLOADED`; then no fetch has begun
 */
export function fetchEach(deps: Omit<ApiDeps, 'limits'>, fetchings: readonly Fetching[], fetches: Fetches, client: string): BatchFetch {
  const fetchNext = async (fetching: Fetching): Promise<void> => {
    const { stored } = fetching.job;
    // It may have been cancelled while it waited for its turn.
    const latest = await deps.jobs.store.get(stored.record.id).catch(() => stored);
    if (latest === undefined || hasEnded(latest.record)) return;
    await fetchJob(deps, fetching).catch((error: unknown) => failFetch(deps, fetching, error));
  };
  const cancelAll = () => Promise.all(fetchings.map(({ job }) => cancelJob(deps, job.stored.record.id).catch(() => undefined)));
  return {
    ended: fetches.begin(client, () => mapConcurrently(fetchings, { limit: FILES_AT_ONCE }, fetchNext)),
    cancel: () => void fetches.track(cancelAll()),
  };
}

/**
 * @param gone ends the fetch
 * @returns the queued job @throws Failure as for a file that was sent, `URL_REFUSED`; `JOB_EXPIRED` where it was cancelled · the reason of `gone`
 */
async function fetchJob(deps: Omit<ApiDeps, 'limits'>, { job, plan, ids, client }: Fetching, gone?: AbortSignal): Promise<JobRecord> {
  const { store, clock } = deps.jobs;
  const late = () =>
    new Failure('URL_REFUSED', { says: 'The files were not fetched in time.', details: { reason: 'unreachable' }, retryable: true });
  const files = await untilAborted(deps, job.stored.record.id, MOST_MS, late, (signal) =>
    fetchAll(deps, plan.files, (part) => keyOf(ids, part), gone === undefined ? signal : AbortSignal.any([signal, gone])),
  );
  deps.telemetry.metrics.uploaded(files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  const received = await plan.validate(files);
  try {
    job.stored = await store.update(fetched(job.stored.record, received, clock()), job.stored.revision);
    job.stored = await store.move(job.stored.record, job.stored.revision);
  } catch (cause) {
    throw cause instanceof RevisionConflict ? new Failure('JOB_EXPIRED', { cause }) : cause;
  }
  return enqueue(deps, job, client);
}

/** The client has its answer: the failure is the job's. Where it cannot be written, upkeep does it later. */
async function failFetch(deps: Omit<ApiDeps, 'limits'>, { job, plan, ids }: Fetching, error: unknown): Promise<void> {
  const { store, clock } = deps.jobs;
  const { log } = deps.telemetry;
  const { id } = job.stored.record;
  try {
    const { code, message, details, retryable } = failureOf(error, { log });
    const failure = {
      reason: reasonFor({ code, details }) ?? 'internal',
      message,
      details: { ...details, ...(retryable ? { retryable } : {}) },
    };
    await updateRecord(store, id, (record) => (isFetching(record) ? fail(record, clock(), failure) : undefined));
    const left = await store.get(id);
    if (left !== undefined && !hasEnded(left.record)) return;
    await removeAfterFailure(
      deps.files.objects,
      plan.files.map(({ part }) => keyOf(ids, part)),
    );
  } catch (err) {
    log.warn({ job_id: id, err }, 'the failure of a fetch could not be stored: upkeep ends the job');
  }
}
