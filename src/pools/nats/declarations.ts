/** Declared pools, in a bucket that every process reads: a pool that is not in it has no route and no workers. */

import type { z } from 'zod';
import {
  type Declared,
  KnownEngines,
  POOL_VERSION,
  type PoolClaim,
  PoolDeclaration,
  PoolState,
  RetractedPool,
} from '../../contracts/messages/pool.ts';
import { RevisionConflict } from '../../errors.ts';
import { type Bucket, type BucketSpec, ensureBucket, openBucket } from '../../nats/bucket.ts';
import type { Nats } from '../../nats/connection.ts';
import { claimPool, isOwn, poolOwner, releaseClaim } from './claims.ts';

const POOLS: BucketSpec = { name: 'pools', maxBytes: 64 * 1024 };
/** The stream under the bucket. */
export const REGISTRY_STREAM = `KV_${POOLS.name}`;
const DECLARED = 'pool.';
const KNOWN = 'engines.';
const STATE = 'state.';
const RETRACTED = 'retracted.';
/** Longer than an order waits, ms. */
const RETRACTED_MS = 24 * 3600_000;
const TRIES = 10;

/** A declaration that this filemill, or this pool's workers, cannot follow: the message is for the one that declared it. */
export class Contrary extends Error {
  override readonly name = 'Contrary';
}

/** @param replicas 1, 3 or 5 @throws Mismatch · Unavailable */
export const ensureRegistry = (nats: Nats, replicas: number): Promise<void> => ensureBucket(nats, POOLS, replicas);

export const openDeclarations = (nats: Nats): Bucket => openBucket(nats, POOLS.name);

/**
 * The pool's stream must exist: `ensurePool`. Without `ttlMs`, it is written only if it differs from the stored declaration.
 * @param ttlMs after which it expires unless it is declared again; if omitted, it stays until it is retracted
 * @param claim of the owner; if omitted, the pool has none
 * @throws Contested if it has another owner · Contrary if the pool is of another toolchain · Unavailable
 */
export async function declarePool(nats: Nats, declaration: Declared, ttlMs?: number, claim?: PoolClaim): Promise<void> {
  const bucket = openDeclarations(nats);
  if (claim !== undefined) await claimPool(bucket, declaration.name, claim, ttlMs);
  const key = DECLARED + declaration.name;
  const text = JSON.stringify(PoolDeclaration.parse({ ...declaration, lapses: ttlMs !== undefined }));
  for (let tries = 0; tries < TRIES; tries++) {
    const entry = await bucket.get(key);
    const before = entry === undefined ? undefined : declarationIn(entry.text);
    if (before !== undefined && before.toolchain !== declaration.toolchain) {
      const { name, toolchain } = declaration;
      throw new Contrary(`the pool ${name} is of the toolchain ${before.toolchain}, not ${toolchain}: give another toolchain another pool`);
    }
    if (entry?.text === text && ttlMs === undefined) return;
    try {
      await bucket.put(key, text, entry?.revision ?? 0, ttlMs);
      return;
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
  throw new Error(`the pool ${declaration.name} could not be declared in ${TRIES} tries`);
}

/**
 * The pool gets no new orders. The API's replicas move those that wait in its stream, by what is stored here about the pool's engines.
 * @param claim of the owner: a pool of another owner, or of none, stays; if omitted, any pool is retracted
 * @throws Unavailable
 */
export async function retractPool(nats: Nats, name: string, claim?: PoolClaim): Promise<void> {
  const bucket = openDeclarations(nats);
  if (claim !== undefined) {
    const owner = await poolOwner(bucket, name);
    if (owner === undefined || !isOwn(owner, claim)) return;
  }
  await noteRetracted(bucket, name);
  for (const prefix of [DECLARED, KNOWN, STATE]) {
    for (let tries = 0; tries < TRIES; tries++) {
      const entry = await bucket.get(prefix + name);
      if (entry === undefined) break;
      try {
        await bucket.remove(entry.key, entry.revision);
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
      }
    }
  }
  await releaseClaim(bucket, name);
}

/** Before the declaration is removed: waiting orders must be moved even if this is interrupted. If it is declared again, that counts. */
async function noteRetracted(bucket: Bucket, name: string): Promise<void> {
  const [declared, known] = [await bucket.get(DECLARED + name), await bucket.get(KNOWN + name)];
  const toolchain = (declared && declarationIn(declared.text))?.toolchain;
  if (toolchain === undefined) return;
  const engines = Object.keys((known && knownIn(known.text))?.engines ?? {});
  const retracted: RetractedPool = { version: POOL_VERSION, toolchain, engines };
  const before = await bucket.get(RETRACTED + name);
  await ignoreConflict(bucket.put(RETRACTED + name, JSON.stringify(retracted), before?.revision ?? 0, RETRACTED_MS));
}

/** Written only if it has changed. @param degraded why its workers do not start @throws Unavailable */
export async function publishPoolState(nats: Nats, name: string, degraded: string | undefined): Promise<void> {
  const bucket = openDeclarations(nats);
  const state: PoolState = { version: POOL_VERSION, ...(degraded !== undefined && { degraded }) };
  const [text, before] = [JSON.stringify(state), await bucket.get(STATE + name)];
  if (before?.text !== text) await ignoreConflict(bucket.put(STATE + name, text, before?.revision ?? 0));
}

async function ignoreConflict(write: Promise<unknown>): Promise<void> {
  await write.catch((error: unknown) => {
    if (!(error instanceof RevisionConflict)) throw error;
  });
}

/** @throws Contrary if a newer filemill declared it, or it cannot be read · Unavailable @returns undefined if it is not declared */
export async function readPool(nats: Nats, name: string): Promise<PoolDeclaration | undefined> {
  const entry = await openDeclarations(nats).get(DECLARED + name);
  if (entry === undefined) return undefined;
  const declaration = declarationIn(entry.text);
  if (declaration !== undefined) return declaration;
  const { version } = JSON.parse(entry.text) as { readonly version?: unknown };
  if (Number(version) > POOL_VERSION)
    throw new Contrary(`the pool ${name} is declared by a newer filemill (version ${version}, this one knows ${POOL_VERSION}): upgrade`);
  throw new Contrary(`the declaration of the pool ${name} cannot be read`);
}

/** The declarations that this filemill can read, ordered by name. @throws Unavailable */
export async function readPools(nats: Nats): Promise<readonly PoolDeclaration[]> {
  const { declarations } = await readAll(openDeclarations(nats));
  return [...declarations.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

export interface Everything {
  readonly declarations: ReadonlyMap<string, PoolDeclaration>;
  /** By pool. */
  readonly known: ReadonlyMap<string, KnownEngines>;
  readonly states: ReadonlyMap<string, PoolState>;
  readonly retracted: ReadonlyMap<string, RetractedPool>;
}

/** @param before the last result: a scan may miss concurrent writes, so an entry counts as removed only after a read by its key */
export async function readAll(bucket: Bucket, before?: Everything): Promise<Everything> {
  const texts = new Map<string, string>();
  for await (const { key, text } of bucket.entries()) texts.set(key, text);
  const keysUnder = (prefix: string, found: ReadonlyMap<string, unknown> = new Map()) => [...found.keys()].map((name) => prefix + name);
  const keys = [
    ...keysUnder(DECLARED, before?.declarations),
    ...keysUnder(KNOWN, before?.known),
    ...keysUnder(STATE, before?.states),
    ...keysUnder(RETRACTED, before?.retracted),
  ];
  for (const key of keys) {
    const entry = texts.has(key) ? undefined : await bucket.get(key);
    if (entry !== undefined) texts.set(key, entry.text);
  }
  const under = <T>(prefix: string, read: (text: string) => T | undefined) =>
    new Map(
      [...texts].flatMap(([key, text]) => {
        const value = key.startsWith(prefix) ? read(text) : undefined;
        return value === undefined ? [] : [[key.slice(prefix.length), value] as const];
      }),
    );
  const parserOf =
    <T extends { readonly version: number }>(schema: z.ZodType<T>) =>
    (text: string) => {
      const read = schema.safeParse(json(text));
      return read.success && read.data.version <= POOL_VERSION ? read.data : undefined;
    };
  return {
    declarations: under(DECLARED, declarationIn),
    known: under(KNOWN, knownIn),
    states: under(STATE, parserOf(PoolState)),
    retracted: under(RETRACTED, parserOf(RetractedPool)),
  };
}

/** Every replica gets the same heartbeats, so one whose write conflicts need not retry. */
export async function keepEngines(bucket: Bucket, pool: string, known: KnownEngines): Promise<void> {
  try {
    await bucket.put(KNOWN + pool, JSON.stringify(known), (await bucket.get(KNOWN + pool))?.revision ?? 0);
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error;
  }
}

const declarationIn = (text: string): PoolDeclaration | undefined => {
  const read = PoolDeclaration.safeParse(json(text));
  return read.success && read.data.version <= POOL_VERSION ? read.data : undefined;
};
const knownIn = (text: string): KnownEngines | undefined => {
  const read = KnownEngines.safeParse(json(text));
  return read.success && read.data.version <= POOL_VERSION ? read.data : undefined;
};

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
