/** What callers see when NATS does not answer in time, or has no room: clients read OVERLOADED and come again. */
import { JetStreamApiCodes, JetStreamApiError, JetStreamError } from '@nats-io/jetstream';
import { ClosedConnectionError, ConnectionError, DrainingConnectionError, RequestError, TimeoutError } from 'nats';
import { Failure } from '../errors.ts';

/** Whether a write that ended like this was stored is not known. */
export class Unavailable extends Failure {
  /** @param what was tried, for the log */
  constructor(what: string, cause: unknown) {
    super('OVERLOADED', { says: 'The service cannot reach its store: try again in a moment.', cause: new Error(what, { cause }) });
  }
}

/** JetStream's own codes (server/errors.json of nats-server). */
const INSUFFICIENT_RESOURCES = 10023;
const STORAGE_EXCEEDED = 10047;
const STORE_FAILED = 10077;
const FULL: ReadonlySet<number> = new Set([INSUFFICIENT_RESOURCES, STORAGE_EXCEEDED, STORE_FAILED]);
/** The same message is being stored: an earlier attempt of ours. */
const DUPLICATE_IN_PROCESS = 10158;
const OUTRUN: ReadonlySet<number> = new Set([
  JetStreamApiCodes.StreamWrongLastSequence,
  // Without a number where another write of the subject is on its way through the replicas.
  JetStreamApiCodes.StreamWrongLastSequenceUnknown,
]);

/** The subject was written since the expected sequence. */
export const isRevisionConflict = (error: unknown): boolean => error instanceof JetStreamApiError && OUTRUN.has(error.code);

/** The stream refused a message for its limits, or its disk. */
export const isFull = (error: unknown): boolean => error instanceof JetStreamApiError && FULL.has(error.code);

/** A limit on messages of one subject (`ErrMaxMsgsPerSubject` in server/store.go): the code is the one of every refusal. */
export const isSubjectTaken = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.code === STORE_FAILED && /per subject/i.test(error.message);

export const isNotFound = (error: unknown): boolean => error instanceof JetStreamApiError && error.status === 404;

/** Whether the same call may succeed in a moment: no connection, no leader, no answer. */
export function isTransient(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return !FULL.has(error.code) && (error.status === 503 || error.code === DUPLICATE_IN_PROCESS);
  return (
    error instanceof TimeoutError ||
    error instanceof RequestError ||
    error instanceof ConnectionError ||
    error instanceof ClosedConnectionError ||
    error instanceof DrainingConnectionError ||
    // "JetStream is not enabled" is how the library puts that nobody answered, as while a leader is being elected.
    (error instanceof Error && (error instanceof JetStreamError || error.name === 'JetStreamNotEnabled'))
  );
}
