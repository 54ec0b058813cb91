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
import { FILES_AT_ONCE, fetchAll } from '../intake/references.ts';
import { cancelJob } from '../jobs/cancel.ts';
import { reasonFor } from '../jobs/refused.ts';
import { type CreatedJob, enqueue } from './enqueue.ts';
import type { Draft, FoundJobs, ToFetch } from './stages.ts';
import { untilAborted } from './until-aborted.ts';

/** For all files of a job, ms; each download has its own limits. Upkeep takes a fetch for lost after longer. */
const MOST_MS = 15 * 60_000;
/** Length of a URL that names a job until its file has arrived, characters. */
const MOST_URL = 8_192;

/** One job's fetch. */
interface Fetching {
  /** Created from the draft. */
  readonly job: CreatedJob;
  readonly draft: Draft;
  /** The client's key, whose share of the pool the job counts towards. */
  readonly client: string;
}

/** What a request for jobs with files to fetch has created. */
export interface Drafted extends Pick<FoundJobs, 'batch'> {
  readonly jobs: readonly CreatedJob[];
  readonly drafts: readonly Draft[];
  readonly toFetch: ToFetch;
  readonly client: string;
  /** The client has a key by which it finds the job again. */
  readonly mayReturn: boolean;
  /** From here on the jobs stay, whatever becomes of the request. */
  readonly keep: () => void;
}

/**
 * Fetches and enqueues one job.
 * @returns the queued job, or one that is still fetched when the client is to be answered
 * @throws Failure where the fetch fails before: it is the answer, and nothing is left
 */
export async function fetchOne(
  deps: ApiDeps,
  { jobs: [job], drafts: [draft], toFetch, client, mayReturn, keep }: Drafted,
): Promise<FoundJobs> {
  if (job === undefined || draft === undefined) throw new Error('a request for one job has no draft');
  const fetching = { job, draft, client };
  const gone = new AbortController();
  const work = toFetch.fetches.begin(client, () => fetchJob(deps, fetching, gone.signal));
  const queued = await toFetch.beforeAnswer(work, () => {
    if (!mayReturn) gone.abort(new Error('the client went away'));
  });
  keep();
  if (queued === undefined) void toFetch.fetches.track(work.catch((error: unknown) => failFetch(deps, fetching, error)));
  return { records: [queued ?? job.stored.record] };
}

/**
 * Fetches and enqueues the jobs of a batch, each alone: a file that cannot be fetched fails its job.
 * @param find reads the batch again
 * @throws Failure `OVERLOADED`; then no fetch has begun
 */
export async function fetchEach(deps: ApiDeps, drafted: Drafted, find: () => Promise<FoundJobs>): Promise<FoundJobs> {
  const { jobs, drafts, batch, toFetch, client, mayReturn, keep } = drafted;
  const fetchNext = async (job: CreatedJob, at: number): Promise<void> => {
    const draft = drafts[at];
    // It may have been cancelled while it waited for its turn.
    const latest = await deps.jobs.get(job.stored.record.id).catch(() => job.stored);
    if (draft === undefined || latest === undefined || hasEnded(latest.record)) return;
    const fetching = { job, draft, client };
    await fetchJob(deps, fetching).catch((error: unknown) => failFetch(deps, fetching, error));
  };
  const work = toFetch.fetches.begin(client, () => mapConcurrently(jobs, { limit: FILES_AT_ONCE }, fetchNext));
  keep();
  let hasLeft = false;
  await toFetch.beforeAnswer(work, () => {
    hasLeft = true;
    // The client alone knows the batch's id.
    const cancelAll = () => Promise.all(jobs.map((job) => cancelJob(deps, job.stored.record.id).catch(() => undefined)));
    if (!mayReturn) void toFetch.fetches.track(cancelAll());
  });
  return hasLeft ? { records: drafts.map(({ record }) => record), ...(batch === undefined ? {} : { batch }) } : find();
}

/** The record of a job whose files are not there yet. */
export function draftOf(
  id: string,
  now: number,
  urls: readonly string[],
  known: Pick<JobRecord, 'lane' | 'target'> & { readonly tool?: JobRecord['tool'] },
): JobRecord {
  const [first = ''] = urls;
  const url = URL.parse(first.slice(0, MOST_URL));
  return {
    ...newRecord(id, now),
    pool: FETCHING,
    filename: cleanName(url === null ? '' : sentName(undefined, url)),
    sources: urls.map((_, part) => ({ part, sizeBytes: 0, format: 'unknown' })),
    options: {},
    warnings: [],
    ...known,
  };
}

/**
 * @param gone ends the fetch
 * @returns the queued job @throws Failure as for a file that was sent, `URL_REFUSED`; `JOB_EXPIRED` where it was cancelled · the reason of `gone`
 */
async function fetchJob(deps: ApiDeps, { job, draft, client }: Fetching, gone?: AbortSignal): Promise<JobRecord> {
  const { jobs, clock, metrics } = deps;
  const { field, urls, keyOf, validate } = draft;
  const late = () =>
    new Failure('URL_REFUSED', { says: 'The files were not fetched in time.', details: { reason: 'unreachable' }, retryable: true });
  const files = await untilAborted(deps, job.stored.record.id, MOST_MS, late, (signal) =>
    fetchAll(deps, { field, values: urls }, keyOf, gone === undefined ? signal : AbortSignal.any([signal, gone])),
  );
  metrics.uploaded(files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  const received = await validate(files);
  try {
    job.stored = await jobs.update(fetched(job.stored.record, received, clock()), job.stored.revision);
    job.stored = await jobs.move(job.stored.record, job.stored.revision);
  } catch (cause) {
    throw cause instanceof RevisionConflict ? new Failure('JOB_EXPIRED', { cause }) : cause;
  }
  return enqueue(deps, job, client);
}

/** The client has its answer: the failure is the job's. Where it cannot be written, upkeep does it later. */
async function failFetch(deps: ApiDeps, { job, draft: { urls, keyOf } }: Fetching, error: unknown): Promise<void> {
  const { jobs, objects, clock, log } = deps;
  const { id } = job.stored.record;
  try {
    const { code, message, details, retryable } = failureOf(error, { log });
    const failure = { reason: reasonFor(code) ?? 'internal', message, details: { ...details, ...(retryable ? { retryable } : {}) } };
    await updateRecord(jobs, id, (record) => (isFetching(record) ? fail(record, clock(), failure) : undefined));
    const left = await jobs.get(id);
    if (left !== undefined && !hasEnded(left.record)) return;
    await removeAfterFailure(
      objects,
      urls.map((_, part) => keyOf(part)),
    );
  } catch (err) {
    log.warn({ job_id: id, err }, 'the failure of a fetch could not be stored: upkeep ends the job');
  }
}
