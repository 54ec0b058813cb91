/** Settings of storing results where clients want them. */
import { z } from 'zod';

export const destinationSettings = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe(
      'Whether requests may name an `output_url`, where the result is stored before the job is done; it needs `fetch.rest`, whose rules apply',
    ),
  perSecond: z
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(5)
    .describe('Results that one process begins to send a second to one host, and those that it begins to send for one client'),
  atOnce: z.number().int().min(1).max(1_000).default(20).describe('Results that one process sends at a time, to all hosts together'),
  perHost: z.number().int().min(1).max(1_000).default(4).describe('Results that one process sends to one host at a time'),
  uploadMs: z.number().int().min(1_000).max(3_600_000).default(600_000).describe('How long one attempt to store a result may take, ms'),
});
export type DestinationSettings = z.infer<typeof destinationSettings>;
