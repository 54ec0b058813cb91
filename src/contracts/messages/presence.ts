/** What a worker publishes about itself, on every change and every few seconds. */
import { z } from 'zod';
import { Fault } from './fault.ts';

export const PRESENCE_VERSION = 1;

const count = z.number().int().min(0);

/**
 * Among the engines of a worker: it takes orders of all bands (`queue/nats/bands.ts`). A pool is known to have it while all its workers have it, as
 * with any engine; older readers know no engine of this name and ignore it.
 */
export const BANDS = 'queue-bands';
/** The same for the bands of small orders. */
export const SMALL_BANDS = 'queue-small-bands';
/** What is said as an engine and is none. */
export const queueAbilities: ReadonlySet<string> = new Set([BANDS, SMALL_BANDS]);

/**
 * Among the engines of a worker: it forks a process for each file of this engine. As with `BANDS`, of a pool it is known while all its workers do.
 */
export const forkingOf = (engineId: string): string => `${engineId}:forks`;

/** Not what says how engines and queues are used. */
export const isEngineId = (key: string): boolean => !queueAbilities.has(key) && !key.endsWith(forkingOf(''));

export const Presence = z.strictObject({
  version: z.number().int().min(1),
  pool: z.string().min(1).max(63),
  toolchain: z.string().min(1).max(63),
  /** The name of its pod, or of its machine and process. */
  worker: z.string().min(1).max(63),
  /** `draining`: it takes no more orders, and finishes those that it holds. `drained`: it holds none, and its process is about to end by itself. */
  state: z.enum(['idle', 'busy', 'draining', 'drained']),
  /** Orders that it can hold at a time. */
  slots: count,
  /** Orders that it holds. */
  busy: count,
  /** Orders that it has taken since it started, and those of them that it has released. */
  taken: count,
  ended: count,
  /** Total time of the released orders, ms. */
  busyMs: count,
  /** For how long it has held at least one order, s; 0 while it holds none. */
  busySeconds: count,
  /** Versions by engine id, of the engines that work; empty if one could not be read. */
  engines: z.record(z.string().max(63), z.string().max(100)),
  /** By id, the kind of defect: engines that are installed and fail their trials; absent while there is none. An older reader rejects the whole message. */
  broken: z.record(z.string().max(63), z.string().max(63)).optional(),
  /** How many devices it found, by kind; 0 where its programs could use one and there is none. Absent where its toolchain uses none. An older reader rejects the whole message. */
  devices: z.record(z.string().max(63), count).optional(),
  /** Why it takes no orders although it is idle or busy; absent while it is healthy. An older reader rejects the whole message. */
  unwell: Fault.optional(),
});
export type Presence = z.infer<typeof Presence>;
