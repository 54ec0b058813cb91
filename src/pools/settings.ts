/** Settings of pools. */

import { z } from 'zod';
import { poolName } from '../contracts/messages/pool.ts';
import { toolchains } from '../contracts/toolchains.ts';

const listed = z.strictObject({
  name: poolName,
  toolchain: z.enum(toolchains).describe('Toolchain of its workers'),
  preference: z.number().int().default(0).describe('Among pools of one toolchain, those with the lowest value get orders first'),
});

export const poolSettings = z.strictObject({
  source: z
    .enum(['configuration', 'controller'])
    .default('configuration')
    .describe('Who declares the pools of a cluster: API replicas, from `pools.list`, or the role `controller`, from ToolchainPools'),
  list: z
    .array(listed)
    .max(200)
    .refine((pools) => new Set(pools.map(({ name }) => name)).size === pools.length, 'each name once')
    .default(toolchains.map((name) => ({ name, toolchain: name, preference: 0 })))
    .describe('Pools that API replicas declare; unset: one for each toolchain, named like it'),
});
export type PoolSettings = z.infer<typeof poolSettings>;
