/** What an operator may set of the API. */
import { z } from 'zod';
import { network } from '../limits/settings.ts';
import { mcpSettings } from './mcp/settings.ts';

const MiB = 1 << 20;

export const apiSettings = z.strictObject({
  port: z.coerce.number().int().min(0).max(65_535).default(8080).describe('TCP port that the API listens on; 0 takes a free one'),
  host: z.string().default('0.0.0.0').describe('Address that the API listens on'),
  publicUrl: z
    .url({ protocol: /^https?$/ })
    // Links are made by appending to it.
    .refine((url) => !/[?#@]/.test(url), 'it takes neither a user, nor a query, nor a fragment')
    .optional()
    .describe('What clients reach the service by; a path is allowed. Unset: taken from requests to localhost or an IP address'),
  allowedHosts: z.array(z.string()).default([]).describe('Host names that links may be made from while publicUrl is unset'),
  trustProxy: z
    .array(network)
    .default([])
    .describe('Addresses and CIDRs of proxies whose X-Forwarded-For is believed; of anybody else it is ignored'),
  maxFileBytes: z.number().int().min(1).default(209_715_200).describe('Largest file that is accepted, bytes'),
  maxBatchFiles: z.number().int().min(1).max(100).default(20).describe('Files in one batch'),
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
    .describe('An upload is given up when a window of this length brings fewer than paceBytes, ms'),
  paceBytes: z
    .number()
    .int()
    .min(1)
    .default(16 * 1024)
    .describe('See paceWindowMs, bytes'),
  mcp: mcpSettings.prefault({}),
});
export type ApiSettings = z.infer<typeof apiSettings>;

export const secretSettings = z.strictObject({
  key: z
    .string()
    .min(32)
    .optional()
    .describe('Seals passwords on their way; at least 32 characters. Unset: made once and kept in the data folder'),
});
