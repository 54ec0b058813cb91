/** When a client hangs up before it has its answer. */
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Aborted when the connection ends before the answer does, and after the answer: what goes on then must not listen any more. Bound to the answer,
 * as the connection may carry many more requests: each would leave a listener.
 */
export function hangUpOf({ raw }: FastifyRequest, reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const leave = () => gone.abort(new Error('the client went away'));
  if (raw.socket.destroyed) leave();
  else reply.raw.once('close', leave);
  return gone.signal;
}
