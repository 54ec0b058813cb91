/** What a worker gets for its claim: where to fetch the inputs, where to put the output, and the password if there is one. */
import { z } from 'zod';

export const Grant = z.object({
  /** `file:` or `http(s):` URLs, short-lived, in the order of the record's sources. */
  inputs: z.array(z.url()),
  /** Where this attempt's output goes: no other attempt shares it. */
  output: z.url(),
  password: z.string().optional(),
});
export type Grant = z.infer<typeof Grant>;
