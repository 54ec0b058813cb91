/** What an operator may set of the API. */
import { z } from 'zod';
import { MAX_FILES } from '../catalog/bounds.ts';
import { network } from '../limits/settings.ts';
import { mcpSettings } from './mcp/settings.ts';
import { recipeSettings } from './recipes/settings.ts';

const MiB = 1 << 20;
/** Timers count at most 2^31 ms. */
const DAY_MS = 86_400_000;

export const apiSettings = z.strictObject({
  port: z.coerce.number().int().min(0).max(65_535).default(8080).describe('TCP port that the API listens on; 0 takes a free one'),
  host: z.string().default('0.0.0.0').describe('Address that the API listens on'),
  metricsPort: z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(0)
    .describe(
      'Separate TCP port for /metrics, which the port of the API then does not serve: for APIs that strangers can reach; 0: the same port',
    ),
  metricsHost: z.string().default('127.0.0.1').describe('Address that `metricsPort` listens on'),
  publicUrl: z
    .url({ protocol: /^https?$/ })
    // Links append to it.
    .refine((url) => !/[?#@]/.test(url), 'it takes neither a user, nor a query, nor a fragment')
    .optional()
    .describe(
      'URL at which clients reach the service; a path is allowed, whether the proxy strips it or not. Unset: links name the scheme and host of the request, where that is an IP address, localhost, a name of this machine or one of `allowedHosts`',
    ),
  allowedHosts: z
    .array(z.string())
    .default([])
    .describe('Further host names that links may name while `publicUrl` is unset, and that `/mcp` is reached by'),
  trustProxy: z
    .array(network)
    .default([])
    .describe(
      'Addresses and CIDRs of proxies whose X-Forwarded-For is believed, and X-Forwarded-Proto, -Host and -Prefix for links; those of other senders are ignored',
    ),
  maxFileBytes: z.number().int().min(1).default(209_715_200).describe('Largest file that is accepted, bytes'),
  maxBatchFiles: z.number().int().min(1).max(100).default(MAX_FILES).describe('Files in one batch'),
  syncMaxBytes: z
    .number()
    .int()
    .min(0)
    .default(10 * MiB)
    .describe('Jobs with a larger input answer at once, bytes'),
  syncWaitMs: z.number().int().min(0).max(120_000).default(20_000).describe('How long a request waits for its job, ms'),
  /** A window without this much progress ends an upload: a client that sends a byte a second would hold a slot for years. */
  paceWindowMs: z
    .number()
    .int()
    .min(100)
    .default(30_000)
    .describe('An upload is aborted when fewer than paceBytes arrive in a window of this length, ms'),
  paceBytes: z
    .number()
    .int()
    .min(1)
    .default(16 * 1024)
    .describe('See paceWindowMs, bytes'),
  stalledMs: z
    .number()
    .int()
    .min(100)
    .default(60_000)
    .describe('An answer is aborted when its client has read nothing for this long, or when its file was deleted, ms'),
  drainMs: z
    .number()
    .int()
    .min(0)
    .max(DAY_MS)
    .default(500)
    .describe('How long uploads and downloads of the role `api` may continue after SIGTERM or Ctrl-C before they are cut off, ms'),
  events: z
    .strictObject({
      perClient: z.number().int().min(1).default(40).describe('Streams of events that a client may have open'),
      total: z.number().int().min(1).default(2_000).describe('Streams of events that are open at a time, of all clients, per replica'),
    })
    .prefault({}),
  mcp: mcpSettings.prefault({}),
  recipes: recipeSettings.default({}),
});
export type ApiSettings = z.infer<typeof apiSettings>;

const secretText = z.string().min(32);

/** One key is a list of one. */
const asList = (value: unknown): unknown => (typeof value === 'string' ? [value] : value);

export const secretSettings = z.strictObject({
  key: z
    .preprocess(
      asList,
      z
        .array(secretText)
        .min(1)
        .max(8)
        .refine((keys) => new Set(keys).size === keys.length, 'each key once')
        .optional(),
    )
    .meta({ type: 'array', items: { type: 'string', minLength: 32 } })
    .describe(
      'Keys that passwords are encrypted with on their way, at least 32 characters each: the first encrypts, all decrypt. Unset: one is created and kept in the data folder',
    ),
  salt: secretText
    .optional()
    .describe(
      'Secret with which clients and Idempotency-Keys are hashed, at least 32 characters: a new secret resets all limits. Unset: the last of `secret.key`',
    ),
});
