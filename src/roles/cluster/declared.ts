/** Waits at the start for the declaration of a worker's pool, since roles may start in any order. */

import { setTimeout as pause } from 'node:timers/promises';
import type { PoolDeclaration } from '../../contracts/messages/pool.ts';
import { type Toolchain, toolchains } from '../../contracts/toolchains.ts';
import type { Nats } from '../../nats/connection.ts';
import { isNatsNotFound } from '../../nats/unavailable.ts';
import { Contrary, readPool, readPools } from '../../pools/nats/declarations.ts';
import type { Log } from '../../telemetry/log.ts';
import { CannotStart } from '../process/cannot-start.ts';

const LOOK_MS = 1_000;
const SAY_EVERY = 5;

interface AwaitPoolOptions {
  /** The installed toolchain; undefined: that of the pool. */
  readonly toolchain: Toolchain | undefined;
  readonly patienceMs: number;
  readonly log: Log;
}

/** @returns the toolchain of the pool @throws CannotStart */
export async function awaitPool(nats: Nats, pool: string, { toolchain, patienceMs, log }: AwaitPoolOptions): Promise<Toolchain> {
  const until = performance.now() + patienceMs;
  for (let tries = 0; ; tries++) {
    const declared = await readDeclaration(nats, pool);
    if (declared !== undefined) return accepted(declared, toolchain);
    if (performance.now() + LOOK_MS >= until) throw new CannotStart(`the pool ${pool} is not declared${await others(nats)}: ${ADVICE}`);
    if (tries % SAY_EVERY === 0) log.info({ pool }, 'the pool is not declared yet');
    await pause(LOOK_MS);
  }
}

const ADVICE = 'set POOL to one that is, or declare it in `pools.list` of the API replicas, or as a ToolchainPool';

async function readDeclaration(nats: Nats, pool: string): Promise<PoolDeclaration | undefined> {
  try {
    return await readPool(nats, pool);
  } catch (error) {
    if (error instanceof Contrary) throw new CannotStart(error.message, { cause: error });
    // Before the first API replica or controller there is no bucket.
    if (isNatsNotFound(error)) return undefined;
    throw error;
  }
}

function accepted({ name, toolchain }: PoolDeclaration, installed: Toolchain | undefined): Toolchain {
  const known = toolchains.find((each) => each === toolchain);
  if (known === undefined)
    throw new CannotStart(`the pool ${name} is of the toolchain ${toolchain}, which this filemill does not know: upgrade`);
  if (installed !== undefined && installed !== known)
    throw new CannotStart(`the pool ${name} is of the toolchain ${known}, and this worker is of ${installed}: set POOL or TOOLCHAIN`);
  return known;
}

async function others(nats: Nats): Promise<string> {
  const names = await readPools(nats).then(
    (pools) => pools.map(({ name }) => name),
    () => [],
  );
  return names.length === 0 ? '' : ` (declared are ${names.slice(0, 20).join(', ')})`;
}
