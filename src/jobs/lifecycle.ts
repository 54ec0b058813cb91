/** How a job's record moves: queued → running → (storing →) done, error or cancelled. Pure: callers write what comes back by compare-and-swap. */
import { isReason, type Reason, reasonTable } from '../errors.ts';
import { type JobRecord, RECORD_VERSION, type StoredFailure, type StoredOutput, type StoredPart, type StoredRecipe } from './record.ts';

/** A job that was claimed this often without an end is failed: its file may crash workers. */
export const MAX_CLAIMS = 3;

/** A job older than this is failed instead of requeued, ms: a wait and three of the longest runs fit in, and requeueing must end. */
export const GIVE_UP_MS = 6 * 3600_000;

/** Finished jobs and their files are kept for this long after their end, ms. */
export const RETENTION_MS = 2 * 3600_000;
/** After that, for this long, readers learn that the job existed, ms. */
export const TOMBSTONE_MS = 24 * 3600_000;

/** Where a job is whose files are still fetched by URL: a pool without queue and workers. No name of Kubernetes has an underscore. */
export const FETCHING = '_fetch';

/** Neither fetched nor on its way to the pool that it will wait in. */
export const isFetching = (record: JobRecord): boolean => record.pool === FETCHING && record.state === 'queued' && !isLeaving(record);

/** Its files are there: the first step to its pool. Its waiting time begins. @param received the record that its files resulted in */
export const fetched = (record: JobRecord, received: JobRecord, now: number): JobRecord => ({
  ...received,
  createdAt: record.createdAt,
  queuedAt: now,
  pool: FETCHING,
  moved: { from: FETCHING, to: received.pool, at: now },
});

/** The fields that every new record has. @param now ms since the epoch */
export const newRecord = (id: string, now: number) =>
  ({ version: RECORD_VERSION, id, state: 'queued', createdAt: now, expiresAt: now + RETENTION_MS, attempts: 0 }) as const;

export const hasEnded = ({ state }: JobRecord): boolean => state !== 'queued' && state !== 'running' && state !== 'storing';

/** What a reader sees now, whether or not upkeep has run. */
export function visibility(record: JobRecord, now: number): 'live' | 'expired' | 'forgotten' {
  if (!hasEnded(record) || (record.state !== 'cancelled' && now < record.expiresAt)) return 'live';
  return now < goneAt(record) ? 'expired' : 'forgotten';
}

/** A refusal stored in place of a job: no client ever got the id of such a job. */
export const isRefusal = ({ state, failure }: JobRecord): boolean => state === 'error' && failure?.details['refused'] !== undefined;

/** When the tombstone may be removed, ms since the epoch: a refusal has none. */
export const goneAt = (record: JobRecord): number => (isRefusal(record) ? record.expiresAt : tombstoneEndsAt(record));

const tombstoneEndsAt = (record: JobRecord): number =>
  (record.state === 'cancelled' ? (record.endedAt ?? record.createdAt) : record.expiresAt) + TOMBSTONE_MS;

/** When upkeep must check an ended record again that needs nothing now, ms since the epoch. */
export function nextLookAt(record: JobRecord, now: number): number {
  if (visibility(record, now) !== 'live') return goneAt(record);
  // A message that waits to be sent is offered again.
  const { sealed, nextAt = 0 } = record.webhook ?? {};
  return sealed === undefined ? record.expiresAt : Math.min(record.expiresAt, nextAt > now ? nextAt : now + OFFER_AGAIN_MS);
}

/** A message that could be sent now and was offered is offered again after this, ms. */
const OFFER_AGAIN_MS = 120_000;

/** The job is being moved to another pool: the record here only remains so that the job can always be found. */
export const isLeaving = ({ state, pool, moved }: JobRecord): boolean => state === 'queued' && moved?.from === pool;

/** The first step of a move. @param to a pool @returns undefined if the job is not queued */
export const leave = (record: JobRecord, to: string, now: number): JobRecord | undefined =>
  record.state === 'queued' ? { ...record, moved: { from: record.pool, to, at: now } } : undefined;

/**
 * The second step: the record as it is in the pool that it is moved to. A recipe that goes on where its next part was planned has not been moved
 * out of a pool: it may still be, once.
 */
export function arrive(left: JobRecord): JobRecord {
  const { moved, ...rest } = left;
  if (moved === undefined) return left;
  const goesOn = rest.recipe?.stints[rest.recipe.at]?.pool === moved.to && rest.recipe.at > 0;
  // One that stayed in its pool would be leaving it for ever.
  return goesOn || moved.to === rest.pool ? { ...rest, pool: moved.to } : { ...left, pool: moved.to };
}

/** A worker takes the job, from the queue or from a holder that lost its order. Undefined: nothing to take. */
export function claim(record: JobRecord, attempt: string, now: number): JobRecord | undefined {
  if (hasEnded(record) || record.state === 'storing' || isLeaving(record)) return undefined;
  if (record.attempts >= MAX_CLAIMS)
    return fail(record, now, { reason: 'engine_crashed', message: reasonTable.engine_crashed, details: { attempts: record.attempts } });
  // Only the holder itself can tell whether it died or was late.
  const lapsed = record.attempt === undefined ? record.lapsed : [...(record.lapsed ?? []), record.attempt];
  return { ...record, state: 'running', attempt, attempts: record.attempts + 1, startedAt: now, ...(lapsed && { lapsed }) };
}

/** A holder that was thought dead was only late: its claim was no crash. Undefined: the claim does not count any more. */
export function withdraw(record: JobRecord, attempt: string): JobRecord | undefined {
  const { lapsed, ...rest } = record;
  if (hasEnded(record) || record.state === 'storing' || !lapsed?.includes(attempt)) return undefined;
  const others = lapsed.filter((other) => other !== attempt);
  return { ...rest, attempts: Math.max(0, record.attempts - 1), ...(others.length > 0 && { lapsed: others }) };
}

/** Requeues a claimed job without counting the claim: a drain or an outage is not the file's fault. Its waiting time continues. */
export function requeue(record: JobRecord, now: number): JobRecord {
  if (now - record.createdAt > GIVE_UP_MS) return failWaiting(record, now);
  const { attempt: _, startedAt = now, ...rest } = record;
  const queuedAt = waitingSince(record) + Math.max(0, now - startedAt);
  return { ...rest, state: 'queued', queuedAt, attempts: Math.max(0, record.attempts - 1) };
}

/** The same if the file may be the cause: the claim counts towards `MAX_CLAIMS`. */
export function requeueCounted(record: JobRecord, now: number): JobRecord {
  const next = requeue(record, now);
  return hasEnded(next) ? next : { ...next, attempts: record.attempts };
}

/** The same for a job that ran long while others waited. */
export function giveWay(record: JobRecord, now: number): JobRecord {
  const next = requeue(record, now);
  return hasEnded(next) ? next : { ...next, gaveWay: (record.gaveWay ?? 0) + 1 };
}

/** One pool has done its part of a recipe: the first step to the pool that goes on. Each part has its own claims, and waits on its own. */
export function passOn(
  record: JobRecord,
  now: number,
  { carried, warnings }: Pick<StoredRecipe, 'carried'> & Pick<JobRecord, 'warnings'>,
): JobRecord {
  const { attempt: _, startedAt: __, lapsed: ___, gaveWay: ____, recipe, ...rest } = record;
  const to = recipe?.stints[recipe.at + 1]?.pool;
  if (recipe === undefined || to === undefined) throw new Error('a recipe that goes on nowhere');
  return {
    ...rest,
    state: 'queued',
    queuedAt: now,
    attempts: 0,
    moved: { from: record.pool, to, at: now },
    warnings,
    recipe: { ...recipe, at: recipe.at + 1, carried },
  };
}

/** Fails a job that no worker finished in the time that it may wait. */
export function failWaiting(record: JobRecord, now: number): JobRecord {
  const details = { waited_seconds: Math.round((now - waitingSince(record)) / 1_000) };
  return fail(record, now, { reason: 'queue_timeout', message: reasonTable.queue_timeout, details });
}

/** Since when a queued job has been waiting in all, ms since the epoch: time held by workers is left out. */
export const waitingSince = (record: JobRecord): number => record.queuedAt ?? record.createdAt;

export interface Result {
  readonly output: StoredOutput;
  readonly warnings: JobRecord['warnings'];
  readonly engine: NonNullable<JobRecord['engine']>;
  /** Undefined where the kinds of source and result are not measured. */
  readonly fidelity?: JobRecord['fidelity'];
  /** The results of a recipe. */
  readonly outputs?: readonly StoredPart[];
}

/** Where the client wants the result stored elsewhere, that is next: the job has not ended yet. */
export function finish(record: JobRecord, now: number, { output, warnings, engine, fidelity, outputs }: Result): JobRecord {
  const all = [...record.warnings, ...warnings];
  const more = { ...(fidelity !== undefined && { fidelity }), ...(outputs !== undefined && { outputs: [...outputs] }) };
  const made = { output, engine, warnings: all, ...more };
  if (record.destination === undefined) return { ...end(record, now), state: 'done', ...made };
  return { ...withoutWork(record), state: 'storing', queuedAt: now, ...made };
}

/** The result of a job is where its client wants it. */
export const storedResult = (record: JobRecord, now: number): JobRecord => ({ ...end(record, now), state: 'done' });

export function fail(record: JobRecord, now: number, failure: StoredFailure, engine?: JobRecord['engine']): JobRecord {
  return { ...end(record, now), state: 'error', failure, ...(engine === undefined ? {} : { engine }) };
}

/** At a client's request: its files are removed immediately, readers get 410, and no message is sent. */
export function cancel(record: JobRecord, now: number): JobRecord {
  const { webhook: _, destination: __, ...rest } = end(record, now);
  return { ...rest, state: 'cancelled', expiresAt: now };
}

export const reasonOf = (failure: StoredFailure): Reason => (isReason(failure.reason) ? failure.reason : 'internal');

/** What every end has in common: secrets and recipes are removed, and retention is never shorter than promised. */
function end(record: JobRecord, now: number): JobRecord {
  const { destination, ...rest } = withoutWork(record);
  const ended = { ...rest, endedAt: now, expiresAt: Math.max(record.expiresAt, now + RETENTION_MS) };
  if (destination === undefined) return ended;
  const { sealed: _, ...told } = destination;
  return { ...ended, destination: told };
}

/** Without what only its conversion needed. */
function withoutWork({ sealed: _, lapsed: __, recipe: ___, ...rest }: JobRecord): JobRecord {
  return rest;
}
