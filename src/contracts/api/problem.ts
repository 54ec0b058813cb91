/** The one shape of every error answer. */
import { z } from 'zod';

export const Problem = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    details: z.looseObject({ request_id: z.string(), retryable: z.boolean() }),
  }),
  data: z.object({ job_id: z.string(), status: z.literal('error'), links: z.object({ self: z.url(), output: z.url() }) }).optional(),
});
export type Problem = z.infer<typeof Problem>;
