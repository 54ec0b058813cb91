/** What an operator sets to join a NATS cluster. */
import { z } from 'zod';

export const natsSettings = z.strictObject({
  servers: z
    .array(z.string().min(1))
    .min(1)
    .describe(
      '`host:port` of one server or more of one NATS cluster; a scheme nats:// or tls:// may stand before it; with tls://, servers without TLS are refused',
    ),
  credentialsFile: z.string().optional().describe('Path of a NATS credentials file; unset: no credentials'),
  user: z.string().optional().describe('Name of a user that the NATS servers know by a password'),
  password: z.string().optional().describe('Its password'),
  caFile: z
    .string()
    .optional()
    .describe(
      'Path of the certificates (PEM) that its servers are trusted by, instead of those that Node knows; with it, servers without TLS are refused',
    ),
  certFile: z.string().optional().describe('Path of our own certificate (PEM), for servers that ask for one; it needs keyFile'),
  keyFile: z.string().optional().describe("Path of that certificate's key (PEM)"),
  replicas: z
    .union([z.literal(1), z.literal(3), z.literal(5)])
    .default(1)
    .describe('On how many servers streams and buckets are kept'),
});
export type NatsSettings = z.infer<typeof natsSettings>;
