/** Files for the connection to NATS, checked before it is opened: for an unreadable one the error names the setting. */
import { readFile } from 'node:fs/promises';
import type { NatsSettings } from '../../nats/settings.ts';
import { CannotStart, errorCode } from '../process/cannot-start.ts';

interface NatsFiles {
  /** Text of the credentials file. */
  readonly credentials?: string;
  /** Paths: they are read again at each connection. */
  readonly tls?: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string };
}

/** @throws CannotStart */
export async function natsFiles({ credentialsFile, caFile, certFile, keyFile, servers }: NatsSettings): Promise<NatsFiles> {
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new CannotStart('a certificate for NATS and its key go together: set both NATS_CERT and NATS_KEY, or neither');
  const credentials = await read(credentialsFile, 'NATS_CREDS, the NATS credentials file');
  await read(caFile, 'NATS_CA, the certificates that NATS servers are trusted by');
  await read(certFile, 'NATS_CERT, our certificate for NATS');
  await read(keyFile, "NATS_KEY, that certificate's key");
  const named = Object.entries({ caFile, certFile, keyFile }).filter(([, path]) => path !== undefined);
  const secure = named.length > 0 || servers.some((server) => server.startsWith('tls://'));
  return { ...(credentials !== undefined && { credentials }), ...(secure && { tls: Object.fromEntries(named) }) };
}

async function read(path: string | undefined, what: string): Promise<string | undefined> {
  if (path === undefined) return undefined;
  return readFile(path, 'utf8').catch((cause: unknown) => {
    throw new CannotStart(`${what}, cannot be read at ${path} (${errorCode(cause)})`, { cause });
  });
}
