/** Pools as their workers tell of them over NATS: presence is heard, and what a pool can do is kept for when it has no worker. */
import { PRESENCE_VERSION, Presence } from '../contracts/presence.ts';
import { type BucketSpec, ensureBucket, Outrun, openBucket } from '../nats/bucket.ts';
import type { Nats } from '../nats/connection.ts';
import { hear, tell } from '../nats/hints.ts';
import type { Pool, Registry } from './registry.ts';

/** Workers speak each 5 s: one that has been silent for three of these has gone, ms. */
const GONE_MS = 15_000;
const POOLS: BucketSpec = { name: 'pools', maxAgeMs: 365 * 24 * 3600_000, maxBytes: 64 * 1024 };

const subjectOf = (pool: string): string => `worker.${pool}`;

/** @param replicas 1, 3 or 5 @throws Mismatch · Unavailable */
export const ensureRegistry = (nats: Nats, replicas: number): Promise<void> => ensureBucket(nats, POOLS, replicas);

/** Says how a worker stands: heard by whoever listens now. */
export const sayPresence = (nats: Nats, presence: Presence): void =>
  tell(nats, subjectOf(presence.pool), presence.worker, JSON.stringify(presence));

/**
 * @param names of the pools that orders may be sent to
 * @param nats stays open when the registry is closed
 * @param clock ms since the epoch
 * @param report is told what could not be kept
 */
export async function openRegistry(
  nats: Nats,
  names: readonly string[],
  clock: () => number,
  report: (error: Error) => void,
): Promise<Registry> {
  const bucket = openBucket(nats, POOLS.name);
  const engines = new Map<string, ReadonlyMap<string, string>>();
  const workers = new Map<string, { readonly pool: string; readonly slots: number; readonly heardAt: number }>();
  let current: ReadonlyMap<string, Pool> = new Map();

  const refresh = () => {
    const live = [...workers.values()].filter(({ heardAt }) => clock() - heardAt < GONE_MS);
    const next = new Map(
      [...engines].map(([name, known]) => {
        const slots = live.filter(({ pool }) => pool === name).reduce((sum, worker) => sum + worker.slots, 0);
        return [name, { slots, engines: known }];
      }),
    );
    // The same object as long as nothing changed: who derives from it derives once.
    if (!same(current, next)) current = next;
  };
  const read = async (name: string) => {
    const entry = await bucket.get(name);
    if (entry !== undefined) engines.set(name, new Map(Object.entries(JSON.parse(entry.text) as Record<string, string>)));
    return entry?.revision ?? 0;
  };
  /** Every replica hears the same, so whoever is outrun need not try again. */
  const keep = async (name: string, text: string) => {
    try {
      await bucket.put(name, text, (await bucket.get(name))?.revision ?? 0);
    } catch (error) {
      if (!(error instanceof Outrun)) report(error as Error);
    }
  };
  const listen = (name: string, text: string) => {
    const presence = understood(text);
    if (presence?.pool !== name) return;
    if (presence.state === 'draining') workers.delete(presence.worker);
    else workers.set(presence.worker, { pool: name, slots: presence.slots, heardAt: clock() });
    const heard = new Map(Object.entries(presence.engines));
    if (!sameText(engines.get(name), heard)) {
      engines.set(name, heard);
      void keep(name, JSON.stringify(presence.engines));
    }
    refresh();
  };

  for (const name of names) await read(name);
  refresh();
  const deafen = names.map((name) => hear(nats, subjectOf(name), '*', (_, text) => listen(name, text)));
  const timer = setInterval(() => {
    for (const [worker, { heardAt }] of workers) if (clock() - heardAt >= GONE_MS) workers.delete(worker);
    refresh();
  }, GONE_MS / 3);
  return {
    pools: () => current,
    async close() {
      clearInterval(timer);
      for (const stop of deafen) stop();
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

const sameText = (a: ReadonlyMap<string, string> | undefined, b: ReadonlyMap<string, string>): boolean =>
  a !== undefined && a.size === b.size && [...b].every(([id, version]) => a.get(id) === version);

const same = (a: ReadonlyMap<string, Pool>, b: ReadonlyMap<string, Pool>): boolean =>
  a.size === b.size && [...b].every(([name, { slots, engines }]) => a.get(name)?.slots === slots && a.get(name)?.engines === engines);
