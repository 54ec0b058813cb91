/** Sends a refusal so that the client can read it while it is still sending its body. */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Failure } from '../../errors.ts';
import { answerThenDiscard } from './discard.ts';
import { problemOf } from './problem.ts';

/** @param body as this address writes its refusals */
export function sendFailure(
  request: FastifyRequest,
  reply: FastifyReply,
  failure: Failure,
  body: object = problemOf(failure, request.id),
): FastifyReply {
  if (failure.retryAfter !== undefined) reply.header('retry-after', String(failure.retryAfter));
  const { allowed } = failure.details;
  // RFC 9110 §15.5.6.
  if (failure.code === 'METHOD_NOT_ALLOWED' && Array.isArray(allowed)) reply.header('allow', allowed.join(', '));
  if (failure.cause !== undefined) request.log.info({ code: failure.code, why: inShort(failure.cause) }, 'a request was refused');
  const text = JSON.stringify(body);
  reply.code(failure.status).type('application/json; charset=utf-8').header('content-length', Buffer.byteLength(text));
  if (request.raw.complete || !hasBody(request.raw)) return reply.send(text);
  return reply.send(answerThenDiscard(text, request.raw));
}

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** What is logged of a refusal's cause: its message may contain a URL or a path, so it is logged in full for internal errors only. */
function inShort(cause: unknown): string {
  const { code, name } = cause as { readonly code?: unknown; readonly name?: unknown };
  return String(code ?? name ?? typeof cause);
}
