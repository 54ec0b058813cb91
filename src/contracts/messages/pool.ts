/** A pool as it is declared: workers of one toolchain that take orders from a line of their own. */
import { z } from 'zod';

/** A declaration with a higher version than this is of a newer filemill: replicas pass it by, workers do not start on it. */
export const POOL_VERSION = 1;

/** Part of subjects, of keys, and of the names of Kubernetes objects. */
export const poolName = z
  .string()
  .max(40)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);

export const PoolDeclaration = z.strictObject({
  version: z.number().int().min(1),
  name: poolName,
  /** Which of the toolchains its workers have. Never changes: a pool of another one is another pool. */
  toolchain: z.string().min(1).max(40),
  /** Gets no new orders; those that wait are still taken. */
  paused: z.boolean().default(false),
  /** Of pools that could serve alike, the one with the lowest is taken. */
  preference: z.number().int().default(0),
  /** Workers that it may reach where something starts them when they are needed; 0 or none: those that are there are all. */
  capacity: z.number().int().min(0).optional(),
  /** Whether it goes away unless it is declared again and again. */
  lapses: z.boolean().default(false),
});
export type PoolDeclaration = z.infer<typeof PoolDeclaration>;
/** As whoever declares it writes it, with what may be left out. */
export type Declared = z.input<typeof PoolDeclaration>;

/** What the workers of a pool could do when they were last heard: kept for when it has none. */
export const KnownEngines = z.strictObject({
  version: z.number().int().min(1),
  toolchain: z.string(),
  /** Versions by engine id; empty where one could not be read. */
  engines: z.record(z.string(), z.string()),
  /** By the clock of whoever heard it, ms since the epoch. */
  seenAt: z.number().int(),
});
export type KnownEngines = z.infer<typeof KnownEngines>;

/** How a pool fares, as its controller sees it: kept beside the declaration, which older readers take in one shape only. */
export const PoolState = z.object({
  version: z.number().int().min(1),
  /** Why its workers do not come up; left out while nothing is known to keep them from it. */
  degraded: z.string().max(63).optional(),
});
export type PoolState = z.infer<typeof PoolState>;

/** What a pool could do that was retracted: by this its orders find another. */
export const RetractedPool = z.object({
  version: z.number().int().min(1),
  toolchain: z.string(),
  /** Their ids. */
  engines: z.array(z.string()),
});
export type RetractedPool = z.infer<typeof RetractedPool>;

/**
 * Who declares a pool: nobody else changes or retracts it. Kept beside the declaration, which older readers take in one shape only.
 * A claim of another, which was refused, is told of in the same shape.
 */
export const PoolClaim = z.object({
  version: z.number().int().min(1),
  /** One controller with its namespace, or the configuration of API replicas. */
  scope: z.string().min(1).max(300),
  /** Of the resource, where there is one: it is the same for every controller that works on it. */
  uid: z.string().max(100).optional(),
});
export type PoolClaim = z.infer<typeof PoolClaim>;

/** Pools that API replicas declare from their configuration. */
export const CONFIGURED: PoolClaim = { version: POOL_VERSION, scope: 'the configuration of API replicas' };
