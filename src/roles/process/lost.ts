/** A role whose connection to NATS is closed for good cannot continue: it ends, so that its supervisor restarts it. */
import type { Nats } from '../../nats/connection.ts';

export class CannotGoOn extends Error {
  override readonly name = 'CannotGoOn';
}

/**
 * It waits for a server that cannot be reached, but not for one that refuses this user.
 * @param done resolves when the role has ended by itself, if it ever does
 * @throws CannotGoOn when the connection is closed, by ourselves too
 */
export function untilLost({ core }: Nats, done: Promise<void> = Promise.withResolvers<void>().promise): Promise<void> {
  const lost = core.closed().then((why) => {
    const reason = why instanceof Error ? why.name : 'it was closed';
    throw new CannotGoOn(`filemill has lost NATS for good (${reason}) and ends: check its user and password there, and start it again`);
  });
  const ended = Promise.race([done, lost]);
  // Stopping a role closes its connection too, when nothing awaits this promise any more.
  ended.catch(() => {});
  return ended;
}
