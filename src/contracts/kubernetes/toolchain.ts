/** What a pool's image can do: each toolchain is a set of engines, fixed by the release. */
import { z } from 'zod';

export const Toolchain = z.enum(['image', 'media', 'pdf', 'office', 'web']);
export type Toolchain = z.infer<typeof Toolchain>;
