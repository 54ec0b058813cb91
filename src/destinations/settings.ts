/** Settings of storing results where clients want them, and of S3 stores that they may name. */
import { z } from 'zod';
import { holdsClients } from '../limits/clients/network.ts';
import { network } from '../limits/settings.ts';
import { isEndpoint } from '../objects/settings.ts';

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
  perHost: z
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(4)
    .describe('Results that one process sends to one host, and for one client, at a time'),
  uploadMs: z
    .number()
    .int()
    .min(1_000)
    .max(1_800_000)
    .default(600_000)
    .describe('How long one attempt to store a result may take, ms: one that takes as long is the last'),
});
export type DestinationSettings = z.infer<typeof destinationSettings>;

const connection = z
  .strictObject({
    endpoint: z
      .string()
      .refine(isEndpoint, 'an http or https URL of a host and perhaps a port, such as https://s3.eu-central-1.amazonaws.com')
      .describe('The S3 service. Where its address is private, its port another or its scheme http, list it in `fetch.privateOrigins` too'),
    region: z.string().min(1).max(63).default('us-east-1').describe('Region of the buckets'),
    pathStyle: z.boolean().default(true).describe('Whether the bucket is named in the path of a URL, or before the host'),
    accessKeyId: z.string().min(1).optional().describe('Access key'),
    secretAccessKey: z.string().min(1).optional().describe('Secret access key'),
    secretDir: z
      .string()
      .min(1)
      .optional()
      .describe('Instead: folder with the files `accessKeyId` and `secretAccessKey`, such as a mounted Secret, read at each use'),
    buckets: z.array(z.string().min(3).max(63)).min(1).describe('Buckets that clients may name'),
    prefixes: z.array(z.string().max(900)).min(1).default(['']).describe('What keys have to begin with; by default anything'),
    clients: z
      .array(
        network.refine(
          holdsClients,
          'an IPv4 address or a CIDR such as 10.0.0.0/8, of IPv6 no longer than /64: an IPv6 client is known by its /64',
        ),
      )
      .min(1)
      .describe('Addresses and CIDRs of the clients that may use it, such as 10.0.0.0/8; 0.0.0.0/0 and ::/0 for all'),
  })
  .refine(
    ({ accessKeyId, secretAccessKey, secretDir }) =>
      secretDir === undefined
        ? accessKeyId !== undefined && secretAccessKey !== undefined
        : accessKeyId === undefined && secretAccessKey === undefined,
    'accessKeyId and secretAccessKey, or secretDir',
  );

/** By name. */
export const connectionSettings = z
  .record(z.string().regex(/^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/), connection)
  .describe('S3 stores that clients may name in `s3`, with the credentials of the operator; by name');
export type S3Connections = z.infer<typeof connectionSettings>;
