/** What an operator may set of fetching files by URL. */
import { z } from 'zod';
import { isRange } from './address.ts';

const range = z.string().refine(isRange, 'an address range such as 10.0.0.0/8 or fd00::/8');
const milliseconds = (preset: number) => z.number().int().min(10).default(preset);

export const fetchSettings = z.strictObject({
  rest: z.boolean().default(true).describe('Whether REST takes url and urls[] in place of files, and makes PDFs of web pages'),
  http: z.boolean().default(false).describe('Whether http:// is fetched too, and not https:// only'),
  ports: z.array(z.number().int().min(1).max(65_535)).min(1).default([443, 80]).describe('TCP ports that files are fetched from'),
  allow: z.array(range).default([]).describe('Address ranges (CIDR) that are reached although they are not public: name the narrowest'),
  deny: z
    .array(range)
    .default([])
    .describe('Address ranges (CIDR) that are never reached, allow notwithstanding: add the public addresses of your own machines'),
  privateOrigins: z
    .array(
      z.string().refine(isOrigin, 'an http or https URL of a host and perhaps a port, such as http://minio.storage.svc.cluster.local:9000'),
    )
    .default([])
    .describe(
      'Origins that sources and outputs of ConversionJobs may be in, although their address is private, their port another or their scheme http; for nobody else',
    ),
  maxRedirects: z.number().int().min(0).max(20).default(3).describe('Redirects that are followed, each judged like the first URL'),
  maxHeaderBytes: z.number().int().min(1024).max(262_144).default(16_384).describe('Largest status line and headers of an answer, bytes'),
  resolveMs: milliseconds(5_000).describe('How long a name may take to resolve, ms'),
  connectMs: milliseconds(10_000).describe('How long a connection may take, and then TLS on it, ms'),
  headersMs: milliseconds(15_000).describe("How long the server may take from the request to the end of its answer's headers, ms"),
  idleMs: milliseconds(15_000).describe('A download that brings no byte for this long is given up, ms'),
  minBytesPerSecond: z
    .number()
    .int()
    .min(0)
    .default(4_096)
    .describe(
      'A download that brings less on average over twice `fetch.idleMs`, while only its server is waited for, is given up; 0: however slow',
    ),
  totalMs: milliseconds(300_000).describe('How long a download may take with its redirects, ms'),
});
export type FetchSettings = z.infer<typeof fetchSettings>;

/** Unset: each role that fetches reaches the Internet itself. */
export const egressSettings = z.strictObject({
  url: z
    .string()
    .refine(isHttpOrigin, 'an http URL of a host and a port, such as http://egress:8081')
    .optional()
    .describe('Where the role `egress` is: with it, nothing else reaches the Internet'),
  token: z
    .string()
    .min(32)
    .optional()
    .describe('What the role `egress` and its clients share, at least 32 characters: it serves nobody else'),
  port: z.coerce.number().int().min(0).max(65_535).default(8081).describe('TCP port that the role `egress` listens on; 0 takes a free one'),
  host: z.string().default('0.0.0.0').describe('Address that the role `egress` listens on: never one that the Internet reaches'),
  maxTunnels: z.number().int().min(1).default(2_000).describe('Connections through the role `egress` at a time'),
  maxTunnelBytes: z
    .number()
    .int()
    .min(1)
    .default(512 << 20)
    .describe('What one connection through the role `egress` may carry, both ways together, bytes'),
});
export type EgressSettings = z.infer<typeof egressSettings>;

function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text;
}

function isHttpOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && url.protocol === 'http:' && `${url.origin}/` === url.href;
}
