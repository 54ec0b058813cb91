/** A role that cannot continue ends, so that its supervisor starts it again: NATS refuses it for good, or has lost what was stored. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Nats } from '../../nats/connection.ts';
import { isNatsNotFound } from '../../nats/unavailable.ts';

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

/** How often the stream is looked for while the connection lasts, ms. */
const LOOK_MS = 60_000;
/** What is gone is still gone after this, ms: no role ends for a single wrong answer. */
const SURE_MS = 3_000;
/** A stream that is this much younger than the one at the start is another one, ms. */
const YOUNGER_MS = 1_000;

/**
 * Streams that roles create when they start are gone where a server comes back with an empty disk. Creating them again would not be enough:
 * what this process has in memory belongs to the old ones. Looks after each reconnect, and every minute until the connection is closed.
 * @param stream any that this role creates
 * @returns `emptied` rejects with CannotGoOn, or not at all; `createdAt` is when the stream was created, ms since the epoch by NATS's clock @throws Unavailable
 */
export async function watchStore(
  { core, manager, withRetry, onReconnect }: Nats,
  stream: string,
): Promise<{ readonly emptied: Promise<never>; readonly createdAt: number }> {
  /** Ms since the epoch, by NATS's clock; undefined where there is none. */
  const readCreated = async (): Promise<number | undefined> => {
    try {
      return await withRetry(`to read stream ${stream}`, async () => Date.parse((await manager.streams.info(stream)).created));
    } catch (error) {
      if (isNatsNotFound(error)) return undefined;
      throw error;
    }
  };
  const first = await readCreated();
  const isThere = async () => ((await readCreated()) ?? Number.POSITIVE_INFINITY) < (first ?? 0) + YOUNGER_MS;
  const { promise: emptied, reject } = Promise.withResolvers<never>();
  let isLooking = false;
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    try {
      if (await isThere()) return;
      await pause(SURE_MS);
      if (await isThere()) return;
      reject(new CannotGoOn(`NATS has lost what filemill had stored (stream ${stream} is gone): this role exits and must be restarted`));
    } catch {
      // Not reachable: it is looked for again after the reconnect, and in a minute.
    } finally {
      isLooking = false;
    }
  };
  const timer = setInterval(() => void look(), LOOK_MS).unref();
  const unsubscribe = onReconnect(() => void look());
  void core.closed().finally(() => {
    clearInterval(timer);
    unsubscribe();
  });
  emptied.catch(() => {});
  return { emptied, createdAt: first ?? 0 };
}
