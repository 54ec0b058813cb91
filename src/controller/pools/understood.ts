/** A resource as a pool that can be worked on, or why it cannot be. */
import { ToolchainPool } from '../../contracts/kubernetes/toolchain-pool.ts';
import type { PoolObject } from './observe/objects.ts';
import type { Decision, Seen, Trouble } from './observe/seen.ts';

/** What is known of a pool that its resource does not say. */
export interface Standing {
  /** Who has the name already. */
  readonly namesake: PoolObject | undefined;
  /** Where pools are taken, for one that is elsewhere. */
  readonly homes: readonly string[] | undefined;
}

export function understood(
  resource: PoolObject,
  { namesake, homes }: Standing,
): { readonly pool: ToolchainPool; readonly trouble: Trouble | undefined } {
  const read = ToolchainPool.safeParse(resource);
  // With trouble, only its metadata and its status are of use.
  const pool = read.success ? read.data : (resource as unknown as ToolchainPool);
  if (homes !== undefined) return { pool, trouble: elsewhere(resource, homes) };
  if (namesake !== undefined) return { pool, trouble: takenBy(namesake) };
  return { pool, trouble: read.success ? undefined : notUnderstood(read.error.issues[0]) };
}

const elsewhere = ({ metadata }: PoolObject, homes: readonly string[]): Trouble => ({
  reason: 'NamespaceRefused',
  message: `Pools of this service are taken in the namespaces ${homes.join(', ')} only, and this one is in ${metadata.namespace}.`,
});

const takenBy = ({ metadata }: PoolObject): Trouble => ({
  reason: 'NameTaken',
  message: `The ToolchainPool ${metadata.name} of namespace ${metadata.namespace} has this name: pools of one service need names of their own.`,
});

const notUnderstood = (issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined): Trouble => ({
  reason: 'NotUnderstood',
  message: `${issue?.path.map(String).join('.')}: ${issue?.message}. Is the CustomResourceDefinition of another version?`,
});

/** What there is to say of such a pool. */
export const NOTHING_SEEN: Seen = {
  now: 0,
  pool: { capacity: 0, standby: 0, paused: false, idleMs: 0, targetWaitMs: 0, conversionsPerWorker: 1, slots: 1 },
  demand: undefined,
  serviceMs: undefined,
  enginesKnown: true,
  workers: [],
  foreignSlots: [],
  history: [],
  backOff: undefined,
};
export const NOTHING_DECIDED: Decision = { actions: [], desired: undefined, hold: undefined };
