/** Whether API replicas and workers know of a pool: it is declared when it changed, and anew when NATS may have lost it. */
import { type Declared, POOL_VERSION } from '../../contracts/pool.ts';
import { type ToolchainPool, toolchainOf } from '../../contracts/toolchain-pool.ts';
import { Unavailable } from '../../nats/unavailable.ts';
import type { Memory } from './memory.ts';
import type { Trouble } from './seen.ts';

/** @throws Error saying why it cannot be · Unavailable */
export type Declare = (declaration: Declared) => Promise<void>;

/** @returns why it cannot be declared; not where NATS is away, of which its silence on what waits tells */
export async function declared(declare: Declare, pool: ToolchainPool, memory: Memory): Promise<Trouble | undefined> {
  const { name } = pool.metadata;
  const { paused, preference, capacity } = pool.spec;
  const declaration = { version: POOL_VERSION, name, toolchain: toolchainOf(pool) ?? name, paused, preference, capacity };
  const text = JSON.stringify(declaration);
  if (text === memory.declared) return undefined;
  try {
    await declare(declaration);
    memory.declared = text;
    return undefined;
  } catch (error) {
    if (error instanceof Unavailable) return undefined;
    return { reason: 'NotDeclared', message: `The pool cannot be made known: ${(error as Error).message}` };
  }
}
