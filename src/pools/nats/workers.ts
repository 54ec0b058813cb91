/** Heartbeats of workers: the last one of each, for as long as they keep coming. */
import { PRESENCE_VERSION, Presence } from '../../contracts/messages/presence.ts';
import type { Nats } from '../../nats/connection.ts';
import { publish, subscribe } from '../../nats/hints.ts';
import type { KnownWorkers, WorkerPresence } from '../registry.ts';

/** Workers publish a heartbeat every 5 s: one that has missed three has exited or is frozen, ms. */
const SILENT_MS = 15_000;
const WORKERS = 'worker';

/** Publishes a worker's heartbeat to the current subscribers. */
export function publishPresence(nats: Nats, presence: Presence): void {
  const text = JSON.stringify(presence);
  publish(nats, `${WORKERS}.${presence.pool}`, presence.worker, text);
  nats.keepAlive?.repeat(`${WORKERS}.${presence.pool}.${presence.worker}`, text);
}

/** @param nats stays open when this is closed @param clock ms since the epoch */
export function subscribeWorkers(nats: Nats, clock: () => number): KnownWorkers {
  const pools = new Map<string, Map<string, WorkerPresence>>();
  /** By pool, when one of its workers last said anything, ms since the epoch. */
  const heardAt = new Map<string, number>();
  const callbacks = new Set<(pool: string, worker: string) => void>();
  const isThere = ({ receivedAt }: WorkerPresence) => clock() - receivedAt < SILENT_MS;

  const unsubscribe = subscribe(nats, WORKERS, '>', (name, text) => {
    heardAt.set(name.slice(0, name.indexOf('.')), clock());
    const presence = presenceIn(text);
    // Permissions restrict the subject, not the content: a worker must not report for another.
    if (presence === undefined || name !== `${presence.pool}.${presence.worker}`) return;
    const { pool, worker } = presence;
    const known = pools.get(pool) ?? new Map<string, WorkerPresence>();
    const before = known.get(worker);
    pools.set(pool, known.set(worker, { ...presence, receivedAt: clock() }));
    if (before === undefined || !isThere(before) || differs(before, presence)) for (const callback of callbacks) callback(pool, worker);
  });
  const isHeard = (pool: string) => clock() - (heardAt.get(pool) ?? Number.NEGATIVE_INFINITY) < SILENT_MS;
  const timer = setInterval(() => {
    for (const pool of heardAt.keys()) if (!isHeard(pool)) heardAt.delete(pool);
    for (const [pool, known] of pools) {
      for (const [worker, last] of known) {
        if (isThere(last)) continue;
        known.delete(worker);
        for (const callback of callbacks) callback(pool, worker);
      }
      if (known.size === 0) pools.delete(pool);
    }
  }, SILENT_MS / 5);

  return {
    workers: (pool) => [...(pools.get(pool)?.values() ?? [])].filter(isThere),
    isHeard,
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

function presenceIn(text: string): Presence | undefined {
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
