/** Declares a pool to API replicas and workers: whenever it changes, and again when NATS may have lost it. */

import { type ToolchainPool, toolchainOf } from '../../../contracts/kubernetes/toolchain-pool.ts';
import { type Declared, POOL_VERSION } from '../../../contracts/messages/pool.ts';
import { Failure } from '../../../errors.ts';
import { Contested } from '../../../pools/registry.ts';
import type { PoolMemory } from '../memory.ts';
import type { Trouble } from '../observation.ts';

/** @param uid of the pool's resource @throws Contested · Error with the reason why it cannot be declared · Failure `OVERLOADED` if the store is unreachable */
export type Declare = (declaration: Declared, uid: string | undefined) => Promise<void>;

/** @returns why it cannot be declared; undefined also while NATS is unreachable, which the condition `QueueUnknown` reports */
export async function declareToQueue(declare: Declare, pool: ToolchainPool, memory: PoolMemory): Promise<Trouble | undefined> {
  const { name, uid } = pool.metadata;
  const { paused, preference, capacity } = pool.spec;
  const declaration = { version: POOL_VERSION, name, toolchain: toolchainOf(pool) ?? name, paused, preference, capacity };
  const text = JSON.stringify(declaration);
  if (text === memory.declared()) return undefined;
  try {
    await declare(declaration, uid);
    memory.wasDeclared(text);
    return undefined;
  } catch (error) {
    if (error instanceof Failure && error.code === 'OVERLOADED') return undefined;
    memory.wasDeclared('');
    if (error instanceof Contested) return { reason: 'NameTaken', message: `${error.message}.` };
    return { reason: 'NotDeclared', message: `The pool cannot be declared to the service: ${(error as Error).message}` };
  }
}
