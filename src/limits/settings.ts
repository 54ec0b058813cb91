/** Settings of the limits; the defaults are those of the public contract. */
import { z } from 'zod';
import { isNetwork } from './clients/network.ts';

const HOUR_MS = 3_600_000;

/** An address or a CIDR such as `10.0.0.0/8`, `2001:db8::/32` or `192.0.2.7`: of a trusted proxy, or of an address that many clients share. */
export const network = z.string().refine(isNetwork, 'an IP address or a CIDR such as 10.0.0.0/8');

/** Environment variables are text. */
const asBoolean = (value: unknown): unknown => (value === 'true' ? true : value === 'false' ? false : value);

const count = (preset: number) => z.number().int().min(1).default(preset);

export const limitSettings = z.strictObject({
  enabled: z
    .preprocess(asBoolean, z.boolean())
    .default(true)
    .meta({ type: 'boolean' })
    .describe('Whether clients are limited at all; if false, responses have no rate-limit headers either'),
  daily: count(1_000).describe('REST requests that create jobs, per client and 24 h; a batch counts its files'),
  hourly: count(150).describe('REST requests that create jobs, per client and hour; a batch counts as one'),
  cooldownMs: z
    .number()
    .int()
    .min(0)
    .max(HOUR_MS)
    .default(1_000)
    .describe('Shortest time between two admitted REST requests of a client, ms'),
  mcp: count(1_000).describe('MCP calls that create jobs, per client and 24 h'),
  ai: z
    .record(z.string(), z.number().int().min(1))
    .default({})
    .describe('REST requests to each AI tool, per client and 24 h, by slug; tools that are not listed keep their default'),
  concurrent: count(40).describe('Unfinished jobs a client may have'),
  readsPerMinute: count(600).describe('Requests that create no jobs or are refused, per client, minute and replica'),
  messagesPerMinute: count(600).describe('Requests to /mcp, whatever they ask for, per client, minute and replica'),
  rejections: count(10).describe('Refusals in one hour that are tolerated: after one more, the next request is banned'),
  banMs: z
    .number()
    .int()
    // A shorter ban would end while the refusals that led to it still count, and begin again.
    .min(HOUR_MS)
    .default(24 * HOUR_MS)
    .describe('How long a ban lasts, ms'),
  sharedEgress: z
    .array(z.strictObject({ cidr: network, multiple: z.number().int().min(1).max(100).default(10) }))
    .default([])
    .describe('Networks whose addresses many people share: each address gets a multiple of every limit, and is never banned'),
  unlimited: z.array(network).default([]).describe('Addresses and CIDRs of trusted clients: no limit holds for them'),
  loopback: z
    .boolean()
    .default(false)
    .describe(
      'Whether requests from this machine itself are limited too. They always are where a proxy is to be expected: with api.publicUrl, with api.trustProxy, and in the role api',
    ),
});
export type LimitSettings = z.infer<typeof limitSettings>;
