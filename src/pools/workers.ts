/** What is heard of workers: each one's last word, for as long as it goes on speaking. */
import { PRESENCE_VERSION, Presence } from '../contracts/messages/presence.ts';
import type { Nats } from '../nats/connection.ts';
import { publish, subscribe } from '../nats/hints.ts';

/** Workers speak each 5 s: one that has been silent for three of these has gone, or is frozen, ms. */
const GONE_MS = 15_000;
const WORKERS = 'worker';

export interface WorkerPresence extends Presence {
  /** By our clock, ms since the epoch. */
  readonly receivedAt: number;
}

export interface Workers {
  /** Those heard within the last 15 s, draining and drained ones among them. */
  workers(pool: string): readonly WorkerPresence[];
  /** Calls back when a worker is new, stands differently from its last word, or has fallen silent. @returns unsubscribe */
  onPresence(callback: (pool: string, worker: string) => void): () => void;
  close(): void;
}

/** Says how a worker stands: heard by whoever listens now. */
export function publishPresence(nats: Nats, presence: Presence): void {
  const text = JSON.stringify(presence);
  publish(nats, `${WORKERS}.${presence.pool}`, presence.worker, text);
  nats.keepAlive?.repeat(`${WORKERS}.${presence.pool}.${presence.worker}`, text);
}

/** @param nats stays open when this is closed @param clock ms since the epoch */
export function subscribeWorkers(nats: Nats, clock: () => number): Workers {
  const pools = new Map<string, Map<string, WorkerPresence>>();
  const callbacks = new Set<(pool: string, worker: string) => void>();
  const isThere = ({ receivedAt }: WorkerPresence) => clock() - receivedAt < GONE_MS;

  const unsubscribe = subscribe(nats, WORKERS, '>', (name, text) => {
    const presence = understood(text);
    // Where it was said is what its sender had the right to; what it says may be anything.
    if (presence === undefined || name !== `${presence.pool}.${presence.worker}`) return;
    const { pool, worker } = presence;
    const known = pools.get(pool) ?? new Map<string, WorkerPresence>();
    const before = known.get(worker);
    pools.set(pool, known.set(worker, { ...presence, receivedAt: clock() }));
    if (before === undefined || !isThere(before) || differs(before, presence)) for (const callback of callbacks) callback(pool, worker);
  });
  const timer = setInterval(() => {
    for (const [pool, known] of pools) {
      for (const [worker, heard] of known) {
        if (isThere(heard)) continue;
        known.delete(worker);
        for (const callback of callbacks) callback(pool, worker);
      }
      if (known.size === 0) pools.delete(pool);
    }
  }, GONE_MS / 5);

  return {
    workers: (pool) => [...(pools.get(pool)?.values() ?? [])].filter(isThere),
    onPresence(callback) {
      const own = (pool: string, worker: string) => callback(pool, worker);
      callbacks.add(own);
      return () => void callbacks.delete(own);
    },
    close() {
      clearInterval(timer);
      unsubscribe();
      callbacks.clear();
    },
  };
}

function understood(text: string): Presence | undefined {
  try {
    const read = Presence.safeParse(JSON.parse(text));
    return read.success && read.data.version <= PRESENCE_VERSION ? read.data : undefined;
  } catch {
    return undefined;
  }
}

const differs = (a: Presence, b: Presence): boolean =>
  a.state !== b.state ||
  a.busy !== b.busy ||
  a.ended !== b.ended ||
  a.slots !== b.slots ||
  a.toolchain !== b.toolchain ||
  a.unwell?.reason !== b.unwell?.reason;
