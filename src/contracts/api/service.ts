/** What the service says of itself and of its caller: health and limits. */
import { z } from 'zod';
import { engineRoles } from '../toolchains.ts';

const count = z.number().int().min(0);

const engineHealth = z.object({
  name: z.string(),
  version: z.string().describe('Empty where it is not installed'),
  available: z.boolean(),
  reason: z
    .string()
    .optional()
    .describe('Why it is not available: it is not installed, or does not convert a file that is known to be good'),
  seen_at: z.iso.datetime(),
  fresh: z
    .enum(['fork', 'process'])
    .optional()
    .describe(
      'How an engine that reads each file in a separate process starts that process: forked from a loaded one (`fork`), or, if this build cannot be forked, newly started (`process`), which takes a second of CPU time',
    ),
});

export const Health = z.object({
  status: z.enum(['ok', 'degraded']).describe('`degraded`: an engine is missing, and its formats with it, or the queues do not answer'),
  version: z.string(),
  commit: z
    .string()
    .optional()
    .describe('The commit that it was built from, where that is known: hex digits, with `-changed` behind them if files differed'),
  uptime_seconds: count,
  engines: z
    .record(z.string(), engineHealth.extend({ all: z.array(engineHealth) }))
    .describe(`By purpose: ${engineRoles.map((role) => `\`${role}\``).join(', ')}`),
  storage: z
    .object({ used_bytes: count.optional(), free_bytes: count, full: z.boolean() })
    .optional()
    .describe('Present if files are on the disk of one machine; `used_bytes` if `storage.maxBytes` is set'),
  confinement: z
    .object({
      landlock_abi: count.describe('Version of the Landlock of the kernel; 0: files are not confined'),
      counts: z
        .enum(['cgroup', 'launcher'])
        .describe('What limits memory and processes: the kernel by a cgroup, or samples of the launcher'),
    })
    .optional()
    .describe('How converters are confined; only where one process is API and worker'),
  devices: z
    .record(z.string(), z.record(z.string(), count))
    .optional()
    .describe(
      'By pool, if its engines can use devices: the kinds, such as `nvidia`, and how many each of its workers has found; 0: conversions run on processors',
    ),
  missing: z.array(z.object({ engine: z.string(), reason: z.string(), formats: z.array(z.string()) })),
  queue: z.record(z.string(), z.object({ waiting: count, running: count, workers: count })).describe('By pool'),
});

export const WebhookKeys = z.object({
  keys: z
    .array(
      z.object({
        algorithm: z.literal('ed25519'),
        public_key: z
          .string()
          .regex(/^whpk_[A-Za-z0-9+/]{43}=$/)
          .describe('`whpk_` and the 32 bytes of the key in base64'),
      }),
    )
    .describe('All that messages are signed with: several while one is replaced by another'),
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
  jobs: z.object({ max_ids: count.describe('Most ids in one request for several jobs') }),
  files: z.object({
    max_bytes: count.describe('Largest file that is accepted; some tools accept less'),
    max_batch_files: count.describe('Most files in one batch, or conversions where it has several targets'),
    max_uploads: count.nullable().describe('Most uploads that this client may have at a time; null: not limited'),
    max_upload_bytes: count.nullable().describe('Total size of these; null: not limited'),
  }),
});
