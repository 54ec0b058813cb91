/** What a worker asks for its claim, and what it gets: where to fetch the inputs, where to put the output, and the password if there is one. */
import { z } from 'zod';

/** Asked in words of a higher version, a replica declines: a newer one may answer. */
export const GRANT_VERSION = 1;

const version = z.number().int().min(1).max(GRANT_VERSION);

export const Claimed = z.strictObject({ version, jobId: z.string(), attempt: z.string() });

export const Grant = z.object({
  version,
  /** `file:` or `http(s):` URLs, short-lived, in the order of the record's sources. */
  inputs: z.array(z.url()),
  /** Where this attempt's output goes: no other attempt shares it. */
  output: z.url(),
  password: z.string().optional(),
});
export type Grant = z.infer<typeof Grant>;
