/**
 * Whether the server of a connection has been heard lately. One that was frozen still believes, when it wakes, that it leads the streams that
 * it led: it answers what it was asked meanwhile with what it stored before, although others have led and written since.
 */
import type { NatsConnection } from 'nats';
import { monotonicMs } from './keep-alive/messages.ts';

/** How often the server is pinged, ms. */
const PING_MS = 500;
/** Followers elect another leader after this at the earliest, less a heartbeat that is missing (nats-server, server/raft.go), ms. */
const LEASE_MS = 2_500;
/** How long a server that was silent may need to learn who leads now, ms: what waits for it in its sockets. */
const LEARNS_MS = 500;

export interface ServerWatch {
  /** Whether a read that began then, and is answered now, was answered by a server that cannot have missed an election. */
  isSure(beganAt: number): boolean;
  close(): void;
}

/** @param now ms, of a clock that goes on while this process is stopped */
export function watchServer(
  core: Pick<NatsConnection, 'flush'>,
  onReconnect: (callback: () => void) => () => void,
  now = monotonicMs,
): ServerWatch {
  /** When the last ping that was answered was sent. */
  let heardAt = now();
  let sureFrom = 0;
  let isPinging = false;

  const heard = (sentAt: number) => {
    if (now() - heardAt > LEASE_MS) sureFrom = now() + LEARNS_MS;
    heardAt = Math.max(heardAt, sentAt);
  };
  const ping = async () => {
    if (isPinging) return;
    isPinging = true;
    const sentAt = now();
    // Rejected when the connection is lost: the reconnect pings again.
    await core.flush().then(
      () => heard(sentAt),
      () => {},
    );
    isPinging = false;
  };
  const timer = setInterval(() => void ping(), PING_MS).unref();
  const unsubscribe = onReconnect(() => void ping());
  return {
    isSure: (beganAt) => beganAt >= sureFrom && now() - heardAt <= LEASE_MS,
    close() {
      clearInterval(timer);
      unsubscribe();
    },
  };
}
