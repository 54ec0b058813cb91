/** What callers see when NATS does not respond in time or has no room: clients get OVERLOADED and retry. */
import { JetStreamApiCodes, JetStreamApiError, JetStreamError } from '@nats-io/jetstream';
import { ClosedConnectionError, ConnectionError, DrainingConnectionError, RequestError, TimeoutError } from 'nats';
import { Failure } from '../errors.ts';

/** It is unknown whether a write that failed like this was stored. */
export class Unavailable extends Failure {
  /** @param what was tried, for the log */
  constructor(what: string, cause: unknown) {
    super('OVERLOADED', { says: 'The service cannot reach its storage: try again in a moment.', cause: new Error(what, { cause }) });
  }
}

/** JetStream's own codes (server/errors.json of nats-server). */
const INSUFFICIENT_RESOURCES = 10023;
const STORAGE_EXCEEDED = 10047;
const STORE_FAILED = 10077;
const FULL: ReadonlySet<number> = new Set([INSUFFICIENT_RESOURCES, STORAGE_EXCEEDED, STORE_FAILED]);
/** The same message is being stored, from an earlier attempt of ours. */
const DUPLICATE_IN_PROCESS = 10158;
const WRONG_SEQUENCE: ReadonlySet<number> = new Set([
  JetStreamApiCodes.StreamWrongLastSequence,
  // Sent without a sequence number while another write of the subject is being replicated.
  JetStreamApiCodes.StreamWrongLastSequenceUnknown,
]);

/** The subject was written since the expected sequence. */
export const isRevisionConflict = (error: unknown): boolean => error instanceof JetStreamApiError && WRONG_SEQUENCE.has(error.code);

/** The stream refused a message because of its limits or its disk. */
export const isFull = (error: unknown): boolean => error instanceof JetStreamApiError && FULL.has(error.code);

/** The limit of messages per subject was reached (`ErrMaxMsgsPerSubject` in server/store.go): all such refusals share one code. */
export const isSubjectTaken = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.code === STORE_FAILED && /per subject/i.test(error.message);

export const isNatsNotFound = (error: unknown): boolean => error instanceof JetStreamApiError && error.status === 404;

/** Whether the same call may succeed soon: no connection, no leader, no response. */
export function isNatsTransient(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return !FULL.has(error.code) && (error.status === 503 || error.code === DUPLICATE_IN_PROCESS);
  return (
    error instanceof TimeoutError ||
    error instanceof RequestError ||
    error instanceof ConnectionError ||
    error instanceof ClosedConnectionError ||
    error instanceof DrainingConnectionError ||
    // The library reports "JetStream is not enabled" when no server responds, as during a leader election.
    (error instanceof Error && (error instanceof JetStreamError || error.name === 'JetStreamNotEnabled'))
  );
}
