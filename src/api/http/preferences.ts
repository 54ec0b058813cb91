/** What a client prefers (RFC 7240): not to wait for its job, and to be refused where one of its options is unknown. */
import type { FastifyReply, FastifyRequest } from 'fastify';

const sent = ({ headers }: FastifyRequest): string => String(headers.prefer ?? '').slice(0, 1_000);

/** RFC 7240 §4.1. */
export const prefersAsync = (request: FastifyRequest): boolean => /(^|,)\s*respond-async\s*(,|;|$)/i.test(sent(request));

/** RFC 7240 §4.4. */
export const prefersStrict = (request: FastifyRequest): boolean => /(^|,)\s*handling\s*=\s*"?strict"?\s*(,|;|$)/i.test(sent(request));

/** Adds to `Preference-Applied`, which lists what was heeded. */
export function applied(reply: FastifyReply, preference: string): void {
  const before = reply.getHeader('preference-applied');
  reply.header('preference-applied', before === undefined ? preference : `${String(before)}, ${preference}`);
}
