/** Ownership of pools: two controllers on one NATS, or a controller and replicas with their own list, must not undo each other's pools. */

import { PoolClaim } from '../../contracts/messages/pool.ts';
import { RevisionConflict } from '../../errors.ts';
import type { Bucket, BucketEntry } from '../../nats/bucket.ts';
import { Contested } from '../registry.ts';

const OWNER = 'owner.';
const CONTENDER = 'contender.';
/** How long a contender stays visible, ms: one that claims another owner's pool keeps retrying. */
const CONTENDED_MS = 10 * 60_000;
const TRIES = 10;

export const isOwn = (owner: PoolClaim, claim: PoolClaim): boolean =>
  owner.scope === claim.scope || (owner.uid !== undefined && owner.uid === claim.uid);

/** @returns undefined if no scope claims it, as in a store of an older filemill */
export const poolOwner = async (bucket: Bucket, pool: string): Promise<PoolClaim | undefined> => claimIn(await bucket.get(OWNER + pool));

/** Who else claims it. */
export const contenderOf = async (bucket: Bucket, pool: string): Promise<PoolClaim | undefined> =>
  claimIn(await bucket.get(CONTENDER + pool));

/** @param ttlMs after which the claim expires unless it is renewed @throws Contested */
export async function claimPool(bucket: Bucket, pool: string, claim: PoolClaim, ttlMs?: number): Promise<void> {
  const text = JSON.stringify(claim);
  for (let tries = 0; tries < TRIES; tries++) {
    const entry = await bucket.get(OWNER + pool);
    const owner = claimIn(entry);
    if (owner !== undefined && !isOwn(owner, claim)) {
      await contend(bucket, pool, text);
      throw new Contested(
        `the name ${pool} is taken: the pool is declared by ${owner.scope}, and this is ${claim.scope}; give it another name`,
      );
    }
    if (entry?.text === text && ttlMs === undefined) return;
    try {
      await bucket.put(OWNER + pool, text, entry?.revision ?? 0, ttlMs);
      return;
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
  throw new Error(`the pool ${pool} could not be claimed in ${TRIES} tries`);
}

export async function releaseClaim(bucket: Bucket, pool: string): Promise<void> {
  for (const prefix of [OWNER, CONTENDER]) {
    const entry = await bucket.get(prefix + pool);
    // A write in the meantime is a new claim, which stays.
    if (entry !== undefined) await bucket.remove(entry.key, entry.revision).catch(unlessConflict);
  }
}

/** Records the contender for the owner to see. Not rewritten before it expires: every process observes each write. */
async function contend(bucket: Bucket, pool: string, text: string): Promise<void> {
  const entry = await bucket.get(CONTENDER + pool);
  if (entry?.text !== text) await bucket.put(CONTENDER + pool, text, entry?.revision ?? 0, CONTENDED_MS).catch(unlessConflict);
}

function unlessConflict(error: unknown): void {
  if (!(error instanceof RevisionConflict)) throw error;
}

function claimIn(entry: BucketEntry | undefined): PoolClaim | undefined {
  if (entry === undefined) return undefined;
  try {
    return PoolClaim.safeParse(JSON.parse(entry.text)).data;
  } catch {
    return undefined;
  }
}
