/** The declaration of a pool: workers of one toolchain with their own queue. */
import { z } from 'zod';

/** A declaration with a higher version than this is of a newer filemill: replicas ignore it, workers do not start on it. */
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
  /** Among pools that can serve an order, the one with the lowest value is chosen. */
  preference: z.number().int().default(0),
  /** Maximum number of workers, if something starts them on demand; 0 or none: no more than those that run. */
  capacity: z.number().int().min(0).optional(),
  /** Whether it expires unless it is declared repeatedly. */
  lapses: z.boolean().default(false),
});
export type PoolDeclaration = z.infer<typeof PoolDeclaration>;
/** The declaration as written, with optional fields. */
export type Declared = z.input<typeof PoolDeclaration>;

/** The engines of a pool at its workers' last heartbeat: stored for times without workers. */
export const KnownEngines = z.strictObject({
  version: z.number().int().min(1),
  toolchain: z.string(),
  /** Versions by engine id; empty where one could not be read. */
  engines: z.record(z.string(), z.string()),
  /** By the clock of the receiver, ms since the epoch. */
  seenAt: z.number().int(),
});
export type KnownEngines = z.infer<typeof KnownEngines>;

/** The state of a pool, as its controller sees it: kept beside the declaration, which older readers take in one shape only. */
export const PoolState = z.object({
  version: z.number().int().min(1),
  /** Why its workers do not start; absent while no reason is known. */
  degraded: z.string().max(63).optional(),
});
export type PoolState = z.infer<typeof PoolState>;

/** The engines of a retracted pool, used to find another pool for its orders. */
export const RetractedPool = z.object({
  version: z.number().int().min(1),
  toolchain: z.string(),
  /** Their ids. */
  engines: z.array(z.string()),
});
export type RetractedPool = z.infer<typeof RetractedPool>;

/**
 * Who declares a pool: no other process changes or retracts it. Kept beside the declaration, which older readers take in one shape only.
 * A refused claim of another owner is published in the same shape.
 */
export const PoolClaim = z.object({
  version: z.number().int().min(1),
  /** One controller with its namespace, or the configuration of API replicas. */
  scope: z.string().min(1).max(300),
  /** UID of the resource, if there is one: the same for every controller that works on it. */
  uid: z.string().max(100).optional(),
});
export type PoolClaim = z.infer<typeof PoolClaim>;

/** Pools that API replicas declare from their configuration. */
export const CONFIGURED: PoolClaim = { version: POOL_VERSION, scope: 'the configuration of API replicas' };
