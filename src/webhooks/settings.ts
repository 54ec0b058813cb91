/** Settings of webhooks. */
import { z } from 'zod';

export const webhookSettings = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe('Whether requests may name a `webhook_url`, to which the job is sent at its end; it needs `fetch.rest`, whose rules apply'),
  perSecond: z
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(5)
    .describe('Messages that one process sends a second to one host, and those that it sends for one client'),
  atOnce: z.number().int().min(1).max(1_000).default(20).describe('Messages that one process sends at a time, to all hosts together'),
  perHost: z
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(4)
    .describe('Messages that one process sends to one host, and for one client, at a time'),
});
export type WebhookSettings = z.infer<typeof webhookSettings>;
