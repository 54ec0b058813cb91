/** Where a client wants its result stored, and how far that is: the job is done when the result is there. Pure. */
import { z } from 'zod';
import { reasonTable } from '../errors.ts';
import type { Encryption } from './encryption.ts';
import { fail, MAX_CLAIMS, storedResult } from './lifecycle.ts';
import type { JobRecord, StoredFailure } from './record.ts';
import { dueAt, LEASE_MS } from './webhook.ts';

/** How an S3 store is used: with credentials, or with a connection that the operator has declared. */
export const S3Login = z.union([
  z.strictObject({ connection: z.string().max(63) }),
  z.strictObject({
    endpoint: z.string().max(253),
    region: z.string().max(63),
    pathStyle: z.boolean(),
    accessKeyId: z.string().max(256),
    secretAccessKey: z.string().max(256),
    sessionToken: z.string().max(2_048).optional(),
  }),
]);
export type S3Login = z.infer<typeof S3Login>;

/** Encrypted in the record, for the one job: neither the store nor a log has any of it in the clear. */
const DestinationTarget = z.strictObject({
  /** Where the result is sent by PUT; or an object, `s3://bucket/key`, or the start of its key with a slash at its end. */
  url: z.string(),
  /** For an object. */
  s3: S3Login.optional(),
  /** By name, in lower case. */
  headers: z.record(z.string(), z.string()),
  /** The client's key, by which its uploads are counted. */
  client: z.string(),
});
export type DestinationTarget = z.infer<typeof DestinationTarget>;

export type DestinationRecord = NonNullable<JobRecord['destination']>;

const boundTo = (jobId: string): string => `destination\0${jobId}`;

export const newDestination = (encryption: Encryption, jobId: string, target: DestinationTarget): DestinationRecord => ({
  state: 'waiting',
  attempts: 0,
  nextAt: 0,
  sealed: encryption.encrypt(JSON.stringify(target), boundTo(jobId)),
});

/** @throws if it was encrypted with a key that is not known here */
export const destinationTarget = (encryption: Encryption, jobId: string, sealed: string): DestinationTarget =>
  DestinationTarget.parse(JSON.parse(encryption.decrypt(sealed, boundTo(jobId))));

export type StoringRecord = JobRecord & {
  readonly destination: DestinationRecord & { readonly sealed: string };
  readonly output: NonNullable<JobRecord['output']>;
};

/** Its result was made, and is still to be stored where its client wants it. */
export const isStoring = (record: JobRecord): record is StoringRecord =>
  record.state === 'storing' && record.destination?.sealed !== undefined && record.output !== undefined;

/** Whether an attempt may begin: no other process has one under way, and the pause after the last one is over. */
export function isDueToStore(record: JobRecord, now: number, aloneSince?: number): record is StoringRecord {
  return isStoring(record) && dueAt(record.destination, aloneSince) <= now;
}

/** Whether no process has an attempt under way. */
export const isIdleStoring = (record: JobRecord, now: number, aloneSince?: number): record is StoringRecord =>
  isStoring(record) && (record.destination.begunAt === undefined || dueAt(record.destination, aloneSince) <= now);

/**
 * An attempt begins: no other process begins one before it must have ended. Undefined where there is nothing to store now.
 * @returns a failed job where too many attempts ended with their processes: storing its result may be why
 */
export function claimStoring(record: JobRecord, now: number, aloneSince?: number): JobRecord | undefined {
  if (!isDueToStore(record, now, aloneSince)) return undefined;
  const { destination } = record;
  const { attempts, begunAt, crashes = 0 } = destination;
  // Every end of an attempt that could be written takes its beginning away.
  const crashed = begunAt === undefined ? crashes : crashes + 1;
  if (crashed >= MAX_CLAIMS) return giveUpStoring(record, now, 'crashed');
  const counted = crashed === 0 ? {} : { crashes: crashed };
  return {
    ...record,
    destination: { ...destination, ...counted, state: 'pending', attempts: attempts + 1, nextAt: now + LEASE_MS, begunAt: now },
  };
}

const isOfAttempt = (record: JobRecord, attempts: number): record is StoringRecord =>
  isStoring(record) && record.destination.attempts === attempts;

/** The attempt goes on: others leave it alone for longer. Undefined where it is no longer ours. */
export const renewStoring = (record: JobRecord, attempts: number, now: number): JobRecord | undefined =>
  isOfAttempt(record, attempts) ? { ...record, destination: { ...record.destination, nextAt: now + LEASE_MS } } : undefined;

/** How an attempt ended: the status of the answer, or why there was none. */
export interface StoringEnd {
  readonly status?: number | undefined;
  readonly error?: string | undefined;
}

/** Why there was no answer, where a later attempt may have one. */
const PASSES: ReadonlySet<string> = new Set(['dns', 'unreachable', 'timeout', 'unavailable', 'interrupted']);
/** Statuses below 500 after which a later attempt may succeed (RFC 9110, RFC 6585, RFC 8470). */
const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429]);

/** Why no attempt follows, though the same request may succeed: nothing was wrong with it. */
const OURS: ReadonlySet<string> = new Set(['key', 'crashed', 'missing']);

/** Whether another attempt, or the same request later, may end otherwise. */
export const canBeStoredLater = ({ status, error }: StoringEnd): boolean =>
  status === undefined ? PASSES.has(error ?? '') : status >= 500 || TRANSIENT.has(status);

/** @param outcome an attempt that is to follow, or the end @returns undefined where another one has begun, or the job was deleted */
export function endStoring(
  record: JobRecord,
  attempts: number,
  { status, error }: StoringEnd,
  outcome: { readonly nextAt: number } | 'stored' | 'failed',
  now: number,
): JobRecord | undefined {
  if (!isOfAttempt(record, attempts)) return undefined;
  const { sealed, begunAt: _, lastStatus: __, lastError: ___, ...destination } = record.destination;
  const last = { ...(status === undefined ? {} : { lastStatus: status }), ...(error === undefined ? {} : { lastError: error }) };
  if (typeof outcome !== 'string')
    return { ...record, destination: { ...destination, ...last, sealed, state: 'pending', nextAt: outcome.nextAt } };
  const ended = { ...record, destination: { ...destination, ...last, state: outcome } };
  return outcome === 'stored' ? storedResult(ended, now) : withoutResult(fail(ended, now, notStored(attempts, { status, error })));
}

/** Not one attempt may follow: what was encrypted goes. @param why there can be none; by default the last one's end says it */
export function giveUpStoring(record: JobRecord, now: number, why?: string): JobRecord {
  const { attempts = 0, lastStatus, lastError } = record.destination ?? {};
  const { sealed: _, begunAt: __, ...destination } = record.destination ?? { state: 'failed', attempts, nextAt: 0 };
  const known = lastStatus !== undefined || lastError !== undefined;
  const last = why === undefined && known ? { status: lastStatus, error: lastError } : { error: why ?? 'unavailable' };
  const told = { ...destination, state: 'failed', ...(why === undefined ? {} : { lastError: why }) } as const;
  return withoutResult(fail({ ...record, destination: told }, now, notStored(attempts, last)));
}

/** The result of a job that failed is not kept: its client was to have it elsewhere. */
function withoutResult({ output: _, outputs: __, fidelity: ___, ...record }: JobRecord): JobRecord {
  return record;
}

/** By why there was no answer. */
const WHY: Readonly<Record<string, string>> = {
  address: 'its host name cannot be resolved, or its address is not public',
  dns: 'its host name cannot be resolved, or its address is not public',
  unreachable: 'its server could not be reached, or did not take the file in time',
  timeout: 'its server did not take the file in the time that an attempt may take',
  crashed: 'this service did not finish its attempts',
  disabled: 'this service stores no results elsewhere any more',
  key: 'this service can no longer decrypt where it was to go, because its key was changed: send the request again',
  connection: 'this service no longer has the connection that the request named',
};

const notStored = (attempts: number, { status, error }: StoringEnd): StoredFailure => {
  const why =
    status === undefined ? (WHY[error ?? ''] ?? 'this service could not send it') : `the store answered with HTTP status ${status}`;
  return {
    reason: 'output_not_stored',
    message: `${reasonTable.output_not_stored.slice(0, -1)}: ${why}.`,
    details: {
      attempts,
      ...(status === undefined ? {} : { status }),
      ...(error === undefined ? {} : { store_error: error }),
      ...(canBeStoredLater({ status, error }) || OURS.has(error ?? '') ? { retryable: true } : {}),
    },
  };
};
