/** Moves orders that wait in a pool without workers to a pool that serves, or ends them with a reason: each once, by compare-and-swap. */

import { setTimeout as pause } from 'node:timers/promises';
import { ORDER_VERSION } from '../contracts/messages/order.ts';
import { RevisionConflict } from '../errors.ts';
import { FETCHING, fail, hasEnded, isLeaving, leave, requeueCounted } from '../jobs/lifecycle.ts';
import type { JobStore, Stored } from '../jobs/store.ts';
import { Unreadable } from '../jobs/text.ts';
import type { Registry } from '../pools/registry.ts';
import type { Queue } from '../queue/queue.ts';
import { mapConcurrently } from '../streams/concurrency.ts';
import type { Log } from '../telemetry/log.ts';
import { DESERTED_MS, findReroutes, type Reroute, type Since } from './reroutes.ts';

export interface RerouteDeps {
  readonly jobs: JobStore;
  readonly queue: Pick<Queue, 'jobs' | 'remove' | 'publish'>;
  readonly registry: Pick<Registry, 'pools' | 'removed'>;
  /** Ms since the epoch. */
  readonly clock: () => number;
  readonly log: Log;
}

/** From the end of one check to the start of the next, ms. */
const LOOK_MS = 2_000;
/** Another replica takes over after this if the one that moves orders dies, ms. */
const LOCK_MS = 30_000;
/** Orders of one pool that one check looks at: the next check, which goes on behind them, may decide differently. */
const MOST_AT_A_LOOK = 500;
/** The same where orders have no other pool to go to, and only those of dead workers are released: this repeats for as long as their pool has no workers. */
const MOST_WITHOUT_WAY = 50;
const AT_ONCE = 8;

/** What one check tells the next. */
export interface Checked {
  readonly since: Since;
  /** By pool, the last job that was looked at: those that may not move must not keep the look from all behind them. */
  readonly last: ReadonlyMap<string, string>;
}

export const NOTHING_CHECKED: Checked = { since: new Map(), last: new Map() };

/** @returns stop: resolves once a check in progress has ended */
export function startRerouting(deps: RerouteDeps): () => Promise<void> {
  const { log } = deps;
  const stopping = new AbortController();
  let known = NOTHING_CHECKED;
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await pause(LOOK_MS, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      try {
        known = await rerouteOnce(deps, known, stopping.signal);
      } catch (err) {
        log.warn({ err }, 'waiting orders could not be moved out of a pool that has no workers; the next run tries again');
      }
    }
  })();
  return async () => {
    stopping.abort();
    await running;
  };
}

/** One check. @returns what the next one has to remember */
export async function rerouteOnce(deps: RerouteDeps, before: Checked, signal?: AbortSignal): Promise<Checked> {
  const { jobs, registry, clock } = deps;
  const { ways, since } = findReroutes({ pools: registry.pools(), removed: registry.removed() }, before.since, clock());
  const last = new Map<string, string>();
  for (const way of ways) {
    const earlier = before.last.get(way.from) ?? '';
    const most = way.to === undefined && !way.ends ? MOST_WITHOUT_WAY : MOST_AT_A_LOOK;
    const waiting = await ordersOf(deps, way.from, earlier, most);
    if (waiting.length === 0) continue;
    const ran = await jobs.withLock(`reroute-${way.from}`, LOCK_MS, () => lead(deps, way, waiting, signal));
    last.set(way.from, ran ? (waiting.at(-1) ?? '') : earlier);
  }
  return { since, last };
}

/** By id, those after the last one first. A removed pool may have no queue either. */
async function ordersOf({ queue }: RerouteDeps, pool: string, last: string, most: number): Promise<readonly string[]> {
  const ids = [...(await queue.jobs(pool).catch(() => []))].sort();
  return [...ids.filter((id) => id > last), ...ids.filter((id) => id <= last)].slice(0, most);
}

async function lead(deps: RerouteDeps, way: Reroute, waiting: readonly string[], signal?: AbortSignal): Promise<void> {
  const tally = { moved: 0, ended: 0 };
  await mapConcurrently(waiting, { limit: AT_ONCE }, async (id) => {
    if (signal?.aborted) return;
    const outcome = await leadOne(deps, way, id).catch((error: unknown) => {
      // A worker or the client was faster; or a newer filemill wrote it.
      if (error instanceof RevisionConflict || error instanceof Unreadable) return undefined;
      throw error;
    });
    if (outcome !== undefined) tally[outcome]++;
  });
  if (tally.moved + tally.ended > 0)
    deps.log.info({ pool: way.from, to: way.to, ...tally }, 'waiting orders were moved out of a pool that has no workers');
}

/** @returns the outcome; undefined if it stays */
async function leadOne(deps: RerouteDeps, way: Reroute, id: string): Promise<'moved' | 'ended' | undefined> {
  const { jobs, queue, clock } = deps;
  const found = await jobs.get(id, way.from);
  const waits = found === undefined || hasEnded(found.record) ? undefined : await waiting(deps, way, found);
  if (found === undefined || hasEnded(found.record) || (waits !== undefined && hasEnded(waits.record))) {
    // Its job was moved, or has ended.
    await queue.remove(way.from, id);
    return undefined;
  }
  if (waits === undefined) return undefined;
  if (isLeaving(waits.record)) return moveOn(deps, waits);
  if (way.to !== undefined) {
    if (way.onceOnly && (waits.record.moved?.from ?? FETCHING) !== FETCHING) return undefined;
    const left = leave(waits.record, way.to, clock());
    return left && moveOn(deps, await jobs.update(left, waits.revision));
  }
  if (!way.ends) return undefined;
  const message = 'The engine of this conversion was taken out of service while the job waited.';
  await jobs.update(fail(waits.record, clock(), { reason: 'engine_missing', message, details: {} }), waits.revision);
  await queue.remove(way.from, id);
  return 'ended';
}

/**
 * An order that a worker holds stays with it while any worker exists; its file may be what crashed the last one. A job that was claimed while
 * none was heard shows that one exists.
 */
async function waiting({ jobs, clock }: RerouteDeps, { deserted }: Reroute, { record, revision }: Stored): Promise<Stored | undefined> {
  if (record.state === 'queued') return { record, revision };
  const isLeft = deserted && clock() - (record.startedAt ?? 0) >= DESERTED_MS;
  return isLeft ? jobs.update(requeueCounted(record, clock()), revision) : undefined;
}

/** The order is published after the record is written: until then no worker takes it, in either pool. */
export async function moveOn(
  { jobs, queue }: Pick<RerouteDeps, 'jobs' | 'queue'>,
  { record, revision }: Stored,
): Promise<'moved' | undefined> {
  const { record: moved } = await jobs.move(record, revision);
  if (record.pool !== FETCHING) await queue.remove(record.pool, record.id);
  const { id: jobId, pool, lane } = moved;
  if (!hasEnded(moved)) await queue.publish({ version: ORDER_VERSION, jobId, pool, lane });
  return 'moved';
}
