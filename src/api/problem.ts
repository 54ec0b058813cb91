/** A failure as clients read it: one shape for every refusal, whoever refuses. */
import type { FastifyError, FastifyRequest } from 'fastify';
import type { Problem } from '../contracts/problem.ts';
import { type Code, Failure } from '../errors.ts';

export function problemOf(failure: Failure, requestId: string): Problem {
  const { code, message, details, retryable } = failure;
  return { error: { code, message, details: { ...details, request_id: requestId, retryable } } };
}

/** Anything thrown, as a failure that may be shown. What is not ours to show keeps its cause for the log. */
export function failureOf(error: unknown, request: FastifyRequest): Failure {
  if (error instanceof Failure) return error;
  const status = (error as Partial<FastifyError>).statusCode;
  const code = status === undefined ? undefined : FRAMEWORK[status];
  if (code !== undefined) return new Failure(code, { cause: error });
  request.log.error({ err: error }, 'a request failed for a reason of ours');
  return new Failure('INTERNAL_ERROR', { cause: error });
}

/** What the framework itself refuses, in our words. */
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
