/** Validates a ToolchainPool: the parsed pool, or why it cannot be reconciled. */
import { ToolchainPool } from '../../contracts/kubernetes/toolchain-pool.ts';
import type { PoolObject } from './objects.ts';
import type { Decision, Observation, Trouble } from './observation.ts';

/** What decides about a pool besides its own resource. */
export interface PoolContext {
  /** The pool that already has the name. */
  readonly namesake: PoolObject | undefined;
  /** The namespaces that may hold pools, if this pool is in none of them. */
  readonly homes: readonly string[] | undefined;
}

export function validatePool(
  resource: PoolObject,
  { namesake, homes }: PoolContext,
): { readonly pool: ToolchainPool; readonly trouble: Trouble | undefined } {
  const read = ToolchainPool.safeParse(resource);
  // If parsing failed, callers use only its metadata and status.
  const pool = read.success ? read.data : (resource as unknown as ToolchainPool);
  if (homes !== undefined) return { pool, trouble: elsewhere(resource, homes) };
  if (namesake !== undefined) return { pool, trouble: takenBy(namesake) };
  return { pool, trouble: read.success ? undefined : invalid(read.error.issues[0]) };
}

const elsewhere = ({ metadata }: PoolObject, homes: readonly string[]): Trouble => ({
  reason: 'NamespaceRefused',
  message: `This service accepts pools only in the namespaces ${homes.join(', ')}; this one is in ${metadata.namespace}.`,
});

const takenBy = ({ metadata }: PoolObject): Trouble => ({
  reason: 'NameTaken',
  message: `The ToolchainPool ${metadata.name} of namespace ${metadata.namespace} already has this name: pool names are unique within a service.`,
});

const invalid = (issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined): Trouble => ({
  reason: 'NotUnderstood',
  message: `${issue?.path.map(String).join('.')}: ${issue?.message}. Is the CustomResourceDefinition of another version?`,
});

/** The observation and the decision reported for a pool that was not reconciled. */
export const NOTHING_OBSERVED: Observation = {
  now: 0,
  pool: { capacity: 0, standby: 0, paused: false, idleMs: 0, targetWaitMs: 0, conversionsPerWorker: 1, slots: 1 },
  demand: undefined,
  serviceMs: undefined,
  enginesKnown: true,
  reportedTemplate: undefined,
  enginesCurrent: true,
  workers: [],
  foreignSlots: [],
  history: [],
  backOff: undefined,
};
export const NOTHING_DECIDED: Decision = { actions: [], desired: undefined, hold: undefined };
