/** Settings of fetching files by URL. */
import { z } from 'zod';
import { isRange } from './address.ts';

const range = z.string().refine(isRange, 'an address range such as 10.0.0.0/8 or fd00::/8');
const milliseconds = (preset: number) => z.number().int().min(10).default(preset);

export const fetchSettings = z.strictObject({
  rest: z.boolean().default(true).describe('Whether REST accepts url and urls[] in place of files, and converts web pages to PDF'),
  http: z.boolean().default(false).describe('Whether http:// URLs are fetched too, not only https://'),
  ports: z.array(z.number().int().min(1).max(65_535)).min(1).default([443, 80]).describe('TCP ports from which files are fetched'),
  allow: z
    .array(range)
    .default([])
    .describe('Address ranges (CIDR) that are allowed although they are not public: keep them as narrow as possible'),
  deny: z
    .array(range)
    .default([])
    .describe('Address ranges (CIDR) that are never reached, even if allowed: add the public addresses of your own machines'),
  privateOrigins: z
    .array(
      z.string().refine(isOrigin, 'an http or https URL of a host and perhaps a port, such as http://minio.storage.svc.cluster.local:9000'),
    )
    .default([])
    .describe(
      'Origins that sources and outputs of ConversionJobs may be in, although their address is private, their port another or their scheme http; for ConversionJobs only',
    ),
  maxRedirects: z.number().int().min(0).max(20).default(3).describe('Redirects that are followed, each judged like the first URL'),
  maxHeaderBytes: z.number().int().min(1024).max(262_144).default(16_384).describe('Largest status line and headers of an answer, bytes'),
  resolveMs: milliseconds(5_000).describe('How long a name may take to resolve, ms'),
  connectMs: milliseconds(10_000).describe('How long connecting may take, and then the TLS handshake, ms'),
  headersMs: milliseconds(15_000).describe('How long the server may take from the request to the end of the response headers, ms'),
  idleMs: milliseconds(15_000).describe('A download that receives no byte for this long is aborted, ms'),
  minBytesPerSecond: z
    .number()
    .int()
    .min(0)
    .default(4_096)
    .describe(
      'A download that receives fewer bytes per second, or an upload that sends fewer, on average over twice `fetch.idleMs` and while only its server is waited for, is aborted; 0: no minimum',
    ),
  totalMs: milliseconds(300_000).describe('How long a download may take, redirects included, ms'),
});
export type FetchSettings = z.infer<typeof fetchSettings>;

/** Without `url`, each role that fetches reaches the Internet itself. */
export const egressSettings = z.strictObject({
  url: z
    .string()
    .refine(isHttpOrigin, 'an http URL of a host and a port, such as http://egress:8081')
    .optional()
    .describe('URL of the role `egress`. If set, no other role connects to the Internet'),
  token: z
    .preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(z.string().min(32)).min(1).max(8).optional())
    .meta({ type: 'array', items: { type: 'string', minLength: 32 } })
    .describe(
      'Secret that the role `egress` shares with its clients, at least 32 characters: it serves no other client. If there are several, clients send the first, and `egress` takes each',
    ),
  port: z.coerce.number().int().min(0).max(65_535).default(8081).describe('TCP port that the role `egress` listens on; 0: any free port'),
  host: z.string().default('0.0.0.0').describe('Address that the role `egress` listens on: it must not be reachable from the Internet'),
  metricsPort: z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(0)
    .describe('Separate TCP port for /metrics, which the port for clients then does not serve; 0: the same port'),
  maxTunnels: z.number().int().min(1).default(2_000).describe('Connections through the role `egress` at a time'),
  maxTunnelBytes: z
    .number()
    .int()
    .min(1)
    .default(512 << 20)
    .describe('Bytes that one connection through the role `egress` may transfer, both directions together'),
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
