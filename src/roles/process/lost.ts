/** A role whose connection to NATS is over for good has nothing left to do: it ends, for whoever supervises it to start it anew. */
import type { Nats } from '../../nats/connection.ts';

export class CannotGoOn extends Error {
  override readonly name = 'CannotGoOn';
}

/**
 * A server that is away is waited for; one that refuses this user is not.
 * @param done resolves when the role has ended by itself, if it ever does
 * @throws CannotGoOn when the connection is closed, be it by ourselves
 */
export function untilLost({ core }: Nats, done: Promise<void> = Promise.withResolvers<void>().promise): Promise<void> {
  const lost = core.closed().then((why) => {
    const reason = why instanceof Error ? why.name : 'it was closed';
    throw new CannotGoOn(`filemill has lost NATS for good (${reason}) and ends: check its user and password there, and start it again`);
  });
  const ended = Promise.race([done, lost]);
  // Whoever stops a role closes its connection too, and need not listen any more.
  ended.catch(() => {});
  return ended;
}
