/** Refusals as MCP clients read them: a JSON-RPC error that carries ours. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import { isRecord } from '../../../contracts/json.ts';
import { Failure } from '../../../errors.ts';
import { failureOf, problemOf } from '../../http/problem.ts';
import { sendFailure } from '../../http/refuse.ts';

/** Id of a request (JSON-RPC 2.0 §4); null if none could be read. */
export type Id = string | number | null;

/** Which message a request that is refused brought. */
const ids = new WeakMap<FastifyRequest, Id>();

export const rememberId = (request: FastifyRequest, message: unknown): void => void ids.set(request, idOf(message));

export function idOf(message: unknown): Id {
  const id = isRecord(message) ? message['id'] : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

/** A refusal outside the protocol: its code is the HTTP status. */
export const refusalOf = (failure: Failure, requestId: string, id: Id): object =>
  rpcError(failure.status, failure.message, id, problemOf(failure, requestId).error);

/** @param code of JSON-RPC, or an HTTP status @param data our error, where it is one */
export const rpcError = (code: number, message: string, id: Id, data?: object): object => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, ...(data === undefined ? {} : { data }) },
});

/** Codes of JSON-RPC 2.0 §5.1. */
export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;

/** An invalid message: the answer is a JSON-RPC error with HTTP status 400. */
export class Malformed extends Error {
  readonly code: number;
  constructor(code: typeof PARSE_ERROR | typeof INVALID_REQUEST, message: string) {
    super(message);
    this.code = code;
  }
}

/** The error handler of everything at this address. */
export function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const id = ids.get(request) ?? null;
  if (error instanceof Malformed) return sendFailure(request, reply, new Failure('BAD_REQUEST'), rpcError(error.code, error.message, id));
  const failure = failureOf(error, request);
  return sendFailure(request, reply, failure, refusalOf(failure, request.id, id));
}
