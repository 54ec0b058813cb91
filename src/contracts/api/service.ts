/** What the service says of itself and of its caller: health and limits. */
import { z } from 'zod';

const count = z.number().int().min(0);

const engineHealth = z.object({
  name: z.string(),
  version: z.string().describe('Empty where it is not installed'),
  available: z.boolean(),
  seen_at: z.iso.datetime(),
});

export const Health = z.object({
  status: z.enum(['ok', 'degraded']).describe('`degraded`: an engine is missing, and its formats with it, or the queues do not answer'),
  version: z.string(),
  uptime_seconds: count,
  engines: z
    .record(z.string(), engineHealth.extend({ all: z.array(engineHealth) }))
    .describe('By what they are for: `image`, `audio_video`, `pdf`, `office`, `ocr`, `markup`'),
  storage: z
    .object({ used_bytes: count.optional(), free_bytes: count, full: z.boolean() })
    .optional()
    .describe('Where files are on the disk of one machine; `used_bytes` where `storage.maxBytes` is set'),
  missing: z.array(z.object({ engine: z.string(), formats: z.array(z.string()) })),
  queue: z.record(z.string(), z.object({ waiting: count, running: count, workers: count })).describe('By pool'),
});

const share = z.object({ limit: count, used: count, remaining: count, reset_seconds: count });

export const Limits = z.object({
  enabled: z.boolean(),
  client: z.string().describe('The address, or the IPv6 network, that requests are counted by'),
  banned: z.boolean(),
  ban_expires_at: z.iso.datetime().nullable(),
  rejections_last_hour: count,
  tiers: z.object({
    daily: share,
    hourly: share,
    cooldown: share,
    mcp: share,
    ai: z.record(z.string(), share).describe('By slug of the tool'),
  }),
});
