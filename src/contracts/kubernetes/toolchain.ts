/** What a pool's image can do: each toolchain is a set of engines, fixed by the release. */
import { z } from 'zod';
import { toolchains } from '../toolchains.ts';

export const PoolToolchain = z.enum(toolchains);
export type PoolToolchain = z.infer<typeof PoolToolchain>;
