/** Whether API replicas and workers know of a pool: it is declared when it changed, and anew when NATS may have lost it. */

import { type ToolchainPool, toolchainOf } from '../../../contracts/kubernetes/toolchain-pool.ts';
import { type Declared, POOL_VERSION } from '../../../contracts/messages/pool.ts';
import { Unavailable } from '../../../nats/unavailable.ts';
import { Contested } from '../../../pools/claims.ts';
import type { Memory } from '../memory.ts';
import type { Trouble } from '../observe/seen.ts';

/** @param uid of the pool's resource @throws Contested · Error saying why it cannot be · Unavailable */
export type Declare = (declaration: Declared, uid: string | undefined) => Promise<void>;

/** @returns why it cannot be declared; not where NATS is away, of which its silence on what waits tells */
export async function declared(declare: Declare, pool: ToolchainPool, memory: Memory): Promise<Trouble | undefined> {
  const { name, uid } = pool.metadata;
  const { paused, preference, capacity } = pool.spec;
  const declaration = { version: POOL_VERSION, name, toolchain: toolchainOf(pool) ?? name, paused, preference, capacity };
  const text = JSON.stringify(declaration);
  if (text === memory.declared) return undefined;
  try {
    await declare(declaration, uid);
    memory.declared = text;
    return undefined;
  } catch (error) {
    if (error instanceof Unavailable) return undefined;
    memory.declared = '';
    if (error instanceof Contested) return { reason: 'NameTaken', message: `${error.message}.` };
    return { reason: 'NotDeclared', message: `The pool cannot be made known: ${(error as Error).message}` };
  }
}
