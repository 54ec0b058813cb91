/** How a job's record moves: queued → running → done, error or cancelled. Pure: callers write what comes back by compare-and-swap. */
import { isReason, type Reason, reasonTable } from '../errors.ts';
import { type JobRecord, RECORD_VERSION, type StoredFailure, type StoredOutput } from './record.ts';

/** A file that has taken this many workers down with it is not given to another. */
export const MAX_CLAIMS = 3;

/** A job older than this is not given back once more, ms: a wait and three of the longest runs fit in, and what keeps coming back will not end otherwise. */
export const GIVE_UP_MS = 6 * 3600_000;

/** Finished jobs and their files are kept for this long after their end, ms. */
export const RETENTION_MS = 2 * 3600_000;
/** After that, for this long, readers are told that the job was there. */
export const TOMBSTONE_MS = 24 * 3600_000;

/** What every record begins with. @param now ms since the epoch */
export const newRecord = (id: string, now: number) =>
  ({ version: RECORD_VERSION, id, state: 'queued', createdAt: now, expiresAt: now + RETENTION_MS, attempts: 0 }) as const;

export const hasEnded = (record: JobRecord): boolean => record.state !== 'queued' && record.state !== 'running';

/** What a reader is to be told now, whether or not upkeep has come by. */
export function visibility(record: JobRecord, now: number): 'live' | 'expired' | 'forgotten' {
  if (!hasEnded(record) || (record.state !== 'cancelled' && now < record.expiresAt)) return 'live';
  return now < goneAt(record) ? 'expired' : 'forgotten';
}

/** A refusal that is kept in the place of a job: nobody was ever given the id of such a job. */
export const isRefusal = ({ state, failure }: JobRecord): boolean => state === 'error' && failure?.details['refused'] !== undefined;

/** When the tombstone itself may go, ms since the epoch: a refusal has none. */
export const goneAt = (record: JobRecord): number => (isRefusal(record) ? record.expiresAt : tombstoneGoneAt(record));

const tombstoneGoneAt = (record: JobRecord): number =>
  (record.state === 'cancelled' ? (record.endedAt ?? record.createdAt) : record.expiresAt) + TOMBSTONE_MS;

/** When a record that has ended, and of which nothing is left to do now, needs a look again, ms since the epoch. */
export const nextLookAt = (record: JobRecord, now: number): number =>
  visibility(record, now) === 'live' ? record.expiresAt : goneAt(record);

/** It is on its way to another pool: what is still to be read here is only there so that it is never nowhere. */
export const isLeaving = ({ state, pool, moved }: JobRecord): boolean => state === 'queued' && moved?.from === pool;

/** The first step of a move. @param to a pool @returns undefined where it does not wait */
export const leave = (record: JobRecord, to: string, now: number): JobRecord | undefined =>
  record.state === 'queued' ? { ...record, moved: { from: record.pool, to, at: now } } : undefined;

/** A worker takes the job, from the queue or from a holder whose order lapsed. Undefined: nothing to take. */
export function claim(record: JobRecord, attempt: string, now: number): JobRecord | undefined {
  if (hasEnded(record) || isLeaving(record)) return undefined;
  if (record.attempts >= MAX_CLAIMS)
    return fail(record, now, { reason: 'engine_crashed', message: reasonTable.engine_crashed, details: { attempts: record.attempts } });
  // Whether it died or was held up, only the holder itself can tell.
  const lapsed = record.attempt === undefined ? record.lapsed : [...(record.lapsed ?? []), record.attempt];
  return { ...record, state: 'running', attempt, attempts: record.attempts + 1, startedAt: now, ...(lapsed && { lapsed }) };
}

/** A holder that was thought dead was only late: its claim was no crash. Undefined: it counts no more. */
export function withdraw(record: JobRecord, attempt: string): JobRecord | undefined {
  const { lapsed, ...rest } = record;
  if (hasEnded(record) || !lapsed?.includes(attempt)) return undefined;
  const others = lapsed.filter((other) => other !== attempt);
  return { ...rest, attempts: Math.max(0, record.attempts - 1), ...(others.length > 0 && { lapsed: others }) };
}

/** Gives a claimed job back without counting the claim: a drain or an outage is not the file's fault. Its wait goes on where it ended. */
export function requeue(record: JobRecord, now: number): JobRecord {
  if (now - record.createdAt > GIVE_UP_MS) return failWaiting(record, now);
  const { attempt: _, startedAt = now, ...rest } = record;
  const queuedAt = waitingSince(record) + Math.max(0, now - startedAt);
  return { ...rest, state: 'queued', queuedAt, attempts: Math.max(0, record.attempts - 1) };
}

/** The same where it may yet have been the file: the claim counts, and the last of those that a file has ends it. */
export function requeueCounted(record: JobRecord, now: number): JobRecord {
  const next = requeue(record, now);
  return hasEnded(next) ? next : { ...next, attempts: record.attempts };
}

/** Ends a job that nobody could do in the time that it may wait. */
export function failWaiting(record: JobRecord, now: number): JobRecord {
  const details = { waited_seconds: Math.round((now - waitingSince(record)) / 1_000) };
  return fail(record, now, { reason: 'queue_timeout', message: reasonTable.queue_timeout, details });
}

/** Since when a queued job has been waiting in all, ms since the epoch: time in workers' hands is left out. */
export const waitingSince = (record: JobRecord): number => record.queuedAt ?? record.createdAt;

export interface Result {
  readonly output: StoredOutput;
  readonly warnings: JobRecord['warnings'];
  readonly engine: NonNullable<JobRecord['engine']>;
}

export function finish(record: JobRecord, now: number, { output, warnings, engine }: Result): JobRecord {
  return { ...end(record, now), state: 'done', output, engine, warnings: [...record.warnings, ...warnings] };
}

export function fail(record: JobRecord, now: number, failure: StoredFailure, engine?: JobRecord['engine']): JobRecord {
  return { ...end(record, now), state: 'error', failure, ...(engine === undefined ? {} : { engine }) };
}

/** By a client's wish: its files go at once, and readers are told that it is gone. */
export const cancel = (record: JobRecord, now: number): JobRecord => ({ ...end(record, now), state: 'cancelled', expiresAt: now });

export const reasonOf = (failure: StoredFailure): Reason => (isReason(failure.reason) ? failure.reason : 'internal');

/** What every end has in common: no secret left, and never less time than was promised. */
function end(record: JobRecord, now: number): JobRecord {
  const { sealed: _, lapsed: __, ...rest } = record;
  return { ...rest, endedAt: now, expiresAt: Math.max(record.expiresAt, now + RETENTION_MS) };
}
