/** Settings of uploads. */
import { z } from 'zod';

export const uploadSettings = z.strictObject({
  maxPerClient: z.number().int().min(1).default(20).describe('Uploads that one client may have at a time, finished or not'),
  maxBytesPerClient: z.number().int().min(1).default(2_147_483_648).describe('Total size of the uploads of one client, bytes'),
  idleMs: z.number().int().min(1000).default(3_600_000).describe('An unfinished upload that receives no byte for this long expires, ms'),
  keptMs: z.number().int().min(1000).default(7_200_000).describe('How long a finished upload is kept, ms'),
});
export type UploadSettings = z.infer<typeof uploadSettings>;
