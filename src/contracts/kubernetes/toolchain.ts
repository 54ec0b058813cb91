/** What a pool's image can do: each toolchain is a set of engines, fixed by the release. */
import { z } from 'zod';
import { toolchains } from '../toolchains.ts';

export const Toolchain = z.enum(toolchains);
export type Toolchain = z.infer<typeof Toolchain>;
