/** A failure as clients read it: one shape for every refusal. */
import type { FastifyError, FastifyRequest } from 'fastify';
import type { Problem } from '../../contracts/api/problem.ts';
import { type Code, Failure } from '../../errors.ts';
import { StoreFull, Unreachable } from '../../objects/store.ts';

export function problemOf(failure: Failure, requestId: string): Problem {
  const { code, message, details, retryable } = failure;
  return { error: { code, message, details: { ...details, request_id: requestId, retryable } } };
}

/** Turns anything thrown into a failure that clients may see. The cause is for the log only. */
export function failureOf(error: unknown, request: { readonly log: Pick<FastifyRequest['log'], 'error'> }): Failure {
  const failure = shownAs(error);
  if (error instanceof Unreachable) request.log.error({ err: error }, 'the object store did not answer');
  if (failure.code === 'INTERNAL_ERROR' && failure !== error) request.log.error({ err: error }, 'a request failed with an internal error');
  return failure;
}

/** The status of the answer that a client gets to anything thrown. */
export const statusOf = (error: unknown): number => shownAs(error).status;

/** The same, without a line in the log. */
export function shownAs(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (isFull(error)) return new Failure('OVERLOADED', { says: 'The service has no storage space left: try again later.', cause: error });
  if (error instanceof Unreachable)
    return new Failure('OVERLOADED', { says: 'The service cannot reach its storage: try again in a moment.', cause: error });
  const status = (error as Partial<FastifyError> | null | undefined)?.statusCode;
  const code = status === undefined ? undefined : FRAMEWORK[status];
  return new Failure(code ?? 'INTERNAL_ERROR', { cause: error });
}

/** SQLITE_FULL (https://sqlite.org/rescode.html#full). */
const SQLITE_FULL = 13;

/** Whether a disk is full: that of objects, records or the queue. */
function isFull(error: unknown): boolean {
  if (error instanceof StoreFull) return true;
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown };
  // The low byte is the primary result code.
  return code === 'ENOSPC' || code === 'EDQUOT' || (typeof errcode === 'number' && (errcode & 0xff) === SQLITE_FULL);
}

/** From statuses of the framework to our codes. */
const FRAMEWORK: Readonly<Record<number, Code>> = {
  400: 'BAD_REQUEST',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'BODY_TIMEOUT',
  413: 'BAD_REQUEST',
  414: 'BAD_REQUEST',
  415: 'BAD_REQUEST',
  431: 'BAD_REQUEST',
};
