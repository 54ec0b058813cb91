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
import type { CreatedForClient, Ids, JobPlan, PlannedJobs, ToFetch } from './stages.ts';
import { untilAborted } from './until-aborted.ts';

/** For all files of a job, ms; each download has its own limits. Upkeep takes a fetch for lost after longer. */
const MOST_MS = 15 * 60_000;
/** Length of a URL that names a job until its file has arrived, characters. */
const MOST_URL = 8_192;

/** One job's fetch. */
interface Fetching {
  /** Created from the plan. */
  readonly job: CreatedJob;
  readonly plan: JobPlan<FileToFetch>;
  readonly keyOf: Ids['keyOf'];
  /** The client's key, whose share of the pool the job counts towards. */
  readonly client: string;
}

/** The jobs of a request whose files are to be fetched: of a batch each alone, of one job all its files or none. */
export function fetchedJobs(deps: ApiDeps, ids: Ids, plans: readonly JobPlan<FileToFetch>[], toFetch: ToFetch): PlannedJobs {
  const fetchings = ({ jobs, client }: CreatedForClient): readonly Fetching[] =>
    plans.flatMap((plan, at) => (jobs[at] === undefined ? [] : { job: jobs[at], plan, keyOf: ids.keyOf, client }));
  return {
    ids: plans.map(({ id }) => id),
    validate: async () => plans.map((plan) => draftOf(plan, deps.clock())),
    enqueue: (created) => (ids.batch === undefined ? fetchOne : fetchEach)(deps, fetchings(created), toFetch, created),
  };
}

/**
 * Fetches and enqueues one job.
 * @returns the queued job, or one that is still fetched when the client is to be answered
 * @throws Failure where the fetch fails before: it is the answer, and nothing is left
 */
async function fetchOne(
  deps: ApiDeps,
  [fetching]: readonly Fetching[],
  { fetches, beforeAnswer }: ToFetch,
  { client, mayReturn, keep }: CreatedForClient,
): Promise<readonly JobRecord[]> {
  if (fetching === undefined) throw new Error('a request for one job has none');
  const gone = new AbortController();
  const work = fetches.begin(client, () => fetchJob(deps, fetching, gone.signal));
  const queued = await beforeAnswer(work, () => {
    if (!mayReturn) gone.abort(new Error('the client went away'));
  });
  keep();
  if (queued === undefined) void fetches.track(work.catch((error: unknown) => failFetch(deps, fetching, error)));
  return [queued ?? fetching.job.stored.record];
}

/**
 * Fetches and enqueues the jobs of a batch, each alone: a file that cannot be fetched fails its job.
 * @throws Failure `OVERLOADED`; then no fetch has begun
 */
async function fetchEach(
  deps: ApiDeps,
  fetchings: readonly Fetching[],
  { fetches, beforeAnswer }: ToFetch,
  { jobs, client, mayReturn, keep, find }: CreatedForClient,
): Promise<readonly JobRecord[]> {
  const fetchNext = async (fetching: Fetching): Promise<void> => {
    const { stored } = fetching.job;
    // It may have been cancelled while it waited for its turn.
    const latest = await deps.jobs.get(stored.record.id).catch(() => stored);
    if (latest === undefined || hasEnded(latest.record)) return;
    await fetchJob(deps, fetching).catch((error: unknown) => failFetch(deps, fetching, error));
  };
  const work = fetches.begin(client, () => mapConcurrently(fetchings, { limit: FILES_AT_ONCE }, fetchNext));
  keep();
  let hasLeft = false;
  await beforeAnswer(work, () => {
    hasLeft = true;
    // The client alone knows the batch's id.
    const cancelAll = () => Promise.all(jobs.map((job) => cancelJob(deps, job.stored.record.id).catch(() => undefined)));
    if (!mayReturn) void fetches.track(cancelAll());
  });
  return hasLeft ? jobs.map(({ stored }) => stored.record) : (await find()).records;
}

/** The record of a job whose files are not there yet. */
function draftOf({ id, files, known }: JobPlan<FileToFetch>, now: number): JobRecord {
  const url = URL.parse(files[0]?.url.slice(0, MOST_URL) ?? '');
  return {
    ...newRecord(id, now),
    pool: FETCHING,
    filename: cleanName(url === null ? '' : sentName(undefined, url)),
    sources: files.map(({ part }) => ({ part, sizeBytes: 0, format: 'unknown' })),
    options: {},
    warnings: [],
    ...known,
  };
}

/**
 * @param gone ends the fetch
 * @returns the queued job @throws Failure as for a file that was sent, `URL_REFUSED`; `JOB_EXPIRED` where it was cancelled · the reason of `gone`
 */
async function fetchJob(deps: ApiDeps, { job, plan, keyOf, client }: Fetching, gone?: AbortSignal): Promise<JobRecord> {
  const { jobs, clock, metrics } = deps;
  const late = () =>
    new Failure('URL_REFUSED', { says: 'The files were not fetched in time.', details: { reason: 'unreachable' }, retryable: true });
  const files = await untilAborted(deps, job.stored.record.id, MOST_MS, late, (signal) =>
    fetchAll(deps, plan.files, keyOf, gone === undefined ? signal : AbortSignal.any([signal, gone])),
  );
  metrics.uploaded(files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  const received = await plan.validate(files);
  try {
    job.stored = await jobs.update(fetched(job.stored.record, received, clock()), job.stored.revision);
    job.stored = await jobs.move(job.stored.record, job.stored.revision);
  } catch (cause) {
    throw cause instanceof RevisionConflict ? new Failure('JOB_EXPIRED', { cause }) : cause;
  }
  return enqueue(deps, job, client);
}

/** The client has its answer: the failure is the job's. Where it cannot be written, upkeep does it later. */
async function failFetch(deps: ApiDeps, { job, plan, keyOf }: Fetching, error: unknown): Promise<void> {
  const { jobs, objects, clock, log } = deps;
  const { id } = job.stored.record;
  try {
    const { code, message, details, retryable } = failureOf(error, { log });
    const failure = {
      reason: reasonFor({ code, details }) ?? 'internal',
      message,
      details: { ...details, ...(retryable ? { retryable } : {}) },
    };
    await updateRecord(jobs, id, (record) => (isFetching(record) ? fail(record, clock(), failure) : undefined));
    const left = await jobs.get(id);
    if (left !== undefined && !hasEnded(left.record)) return;
    await removeAfterFailure(
      objects,
      plan.files.map(({ part }) => keyOf(part)),
    );
  } catch (err) {
    log.warn({ job_id: id, err }, 'the failure of a fetch could not be stored: upkeep ends the job');
  }
}
