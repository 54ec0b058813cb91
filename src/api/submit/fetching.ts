/** Jobs whose files are fetched by URL: the record comes first, then the files, and a fetch that fails fails its job (docs/decisions/0031). */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { cleanName } from '../../catalog/names.ts';
import { Failure, RevisionConflict } from '../../errors.ts';
import { sentName } from '../../fetch/download/name.ts';
import { FETCHING, fail, fetched, hasEnded, isFetching, newRecord } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { updateRecord } from '../../jobs/update.ts';
import { clientOf } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { failureOf } from '../http/problem.ts';
import { removeAfterFailure } from '../intake/inputs.ts';
import { keepAll, type Owned } from '../intake/owned.ts';
import type { Received, ReceivedFile } from '../intake/receive.ts';
import { fetchAll, type Named } from '../intake/references.ts';
import { reasonFor } from '../jobs/refused.ts';
import { type CreatedJob, enqueue, storeJob } from './enqueue.ts';
import { sourceShares } from './fetch-shares.ts';
import { findCreated, type Idempotency } from './idempotency.ts';
import { prefersAsync } from './settle.ts';
import { untilAborted } from './until-aborted.ts';

/** Requests that one replica fetches for at a time; clients share them. */
const PLACES = 100;
/** After how long whoever found no place asks again, seconds. */
const NO_PLACE_SECONDS = 2;
/** For all files of a job, ms; each download has its own limits. Upkeep takes a fetch for lost after longer. */
const MOST_MS = 15 * 60_000;
/** Of a URL that a job is named after until its file is there, characters. */
const MOST_URL = 8_192;

/** The fetches of this process. */
export interface Fetches {
  /** @throws Failure `OVERLOADED` where the client has its share of the places, or none is free · what the work throws */
  begin<T>(client: string, work: () => Promise<T>): Promise<T>;
  /** Work that must end before the stores are closed. */
  track<T>(work: Promise<T>): Promise<T>;
}

export function fetchesOf(app: FastifyInstance): Fetches {
  const shares = sourceShares(PLACES);
  const running = new Set<Promise<unknown>>();
  app.addHook('onClose', async () => {
    while (running.size > 0) await Promise.allSettled(running);
  });
  const track = <T>(work: Promise<T>): Promise<T> => {
    const tracked = work.finally(() => running.delete(tracked));
    running.add(tracked);
    return tracked;
  };
  return {
    track,
    begin(client, work) {
      const free = shares.take(client);
      if (free !== undefined) return track(work().finally(free));
      throw new Failure('OVERLOADED', {
        says: 'The service is fetching as many files as it can: try again in a moment.',
        retryAfter: NO_PLACE_SECONDS,
      });
    },
  };
}

/** One job's fetch. */
export interface Fetching {
  /** Created from a draft. */
  readonly job: CreatedJob;
  readonly named: Pick<Named, 'field' | 'values'>;
  readonly keyOf: (part: number) => string;
  /** The client's key, whose share of the pool the job counts towards. */
  readonly client: string;
  /** The record that these files result in. */
  readonly validate: (files: readonly ReceivedFile[]) => Promise<JobRecord>;
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
export async function fetchJob(deps: ApiDeps, { job, named, keyOf, client, validate }: Fetching, gone?: AbortSignal): Promise<JobRecord> {
  const { jobs, clock, metrics } = deps;
  const late = () =>
    new Failure('URL_REFUSED', { says: 'The files were not fetched in time.', details: { reason: 'unreachable' }, retryable: true });
  const files = await untilAborted(deps, job.stored.record.id, MOST_MS, late, (signal) =>
    fetchAll(deps, named, keyOf, gone === undefined ? signal : AbortSignal.any([signal, gone])),
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
export async function failFetch(deps: ApiDeps, { job, named, keyOf }: Fetching, error: unknown): Promise<void> {
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
      named.values.map((_, part) => keyOf(part)),
    );
  } catch (err) {
    log.warn({ job_id: id, err }, 'the failure of a fetch could not be stored: upkeep ends the job');
  }
}

export interface Submitted {
  readonly record: JobRecord;
  /** The client has a key by which it finds the job again. */
  readonly mayReturn: boolean;
  /** How much of its wait is over, ms. */
  readonly waitedMs?: number;
}

/**
 * Creates the job, then fetches its files.
 * @param given what the request has stored until now, which its end of scope takes back unless this keeps it
 * @returns the queued job, or one that is still fetched when the client is to be answered
 * @throws Failure where the fetch fails before: it is the answer, and nothing is left
 */
export async function submitFetched(
  deps: ApiDeps,
  fetches: Fetches,
  request: FastifyRequest,
  given: { readonly idempotency: Idempotency; readonly inputs: Owned; readonly sent: Received; readonly draft: JobRecord } & Omit<
    Fetching,
    'job' | 'client'
  >,
): Promise<Submitted> {
  const { idempotency, inputs, sent, draft, ...rest } = given;
  const mayReturn = idempotency.hasKey;
  const startedAt = performance.now();
  await using job = await storeJob(deps, draft);
  const winner = await idempotency.claim(draft.id, sent);
  if (winner !== undefined) return { record: await findCreated(deps, winner), mayReturn };

  const fetching = { ...rest, job, client: clientOf(deps, request).key };
  const gone = new AbortController();
  const work = fetches.begin(fetching.client, () => fetchJob(deps, fetching, gone.signal));
  const queued = await beforeAnswer(deps, request, work, () => {
    if (!mayReturn) gone.abort(new Error('the client went away'));
  });
  keepAll(idempotency, inputs, job);
  if (queued === undefined) void fetches.track(work.catch((error: unknown) => failFetch(deps, fetching, error)));
  return { record: queued ?? job.stored.record, mayReturn, waitedMs: performance.now() - startedAt };
}

/** @param left called when the client hangs up @returns what the work returns; undefined where the client is to be answered before */
export async function beforeAnswer<T>(
  { settings }: Pick<ApiDeps, 'settings'>,
  request: FastifyRequest,
  work: Promise<T>,
  left: () => void,
): Promise<T | undefined> {
  // Handled by whoever goes on with it.
  work.catch(() => undefined);
  if (prefersAsync(request)) return undefined;
  const { socket } = request.raw;
  const over = Promise.withResolvers<undefined>();
  const timer = setTimeout(over.resolve, settings.syncWaitMs, undefined);
  if (socket.destroyed) left();
  socket.once('close', left);
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
    socket.off('close', left);
  }
}
