/** Temporary credentials of a real MinIO, and stand-ins for the endpoints that hand them out in a cluster. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AssumeRoleProvider } from 'minio/dist/esm/AssumeRoleProvider.mjs';
import type { Minio } from '../kit/objects/minio.ts';

export interface Temporary {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/** From MinIO's STS (AssumeRole): it lets them live for 15 minutes. */
export async function assumeRole(minio: Minio): Promise<Temporary> {
  const { endpoint, accessKeyId, secretAccessKey, region } = minio.settings();
  const role = new AssumeRoleProvider({ stsEndpoint: endpoint, accessKey: accessKeyId, secretKey: secretAccessKey, region });
  const found = await role.getCredentials();
  return { accessKeyId: found.getAccessKey(), secretAccessKey: found.getSecretKey(), sessionToken: found.getSessionToken() ?? '' };
}

export interface Endpoint {
  readonly url: string;
  /** Method, path and body of every request. */
  readonly asked: string[];
  close(): Promise<void>;
}

/** @param answer the body of an answer; undefined: none ever comes */
export async function openEndpoint(answer: (path: string, body: string) => Promise<string | number | undefined>): Promise<Endpoint> {
  const asked: string[] = [];
  const server = createServer(async (incoming, response) => {
    const body = await textOf(incoming);
    asked.push(`${incoming.method} ${incoming.url} ${body}`.trim());
    const says = await answer(incoming.url ?? '', body);
    if (typeof says === 'number') response.writeHead(says).end('canary');
    else if (says !== undefined) response.end(says);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close: () => closed(server) };
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return String(Buffer.concat(chunks));
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/** As the container endpoint and the instance metadata service answer. */
export const asMetadata = ({ accessKeyId, secretAccessKey, sessionToken }: Temporary, expires: number): string =>
  JSON.stringify({
    Code: 'Success',
    AccessKeyId: accessKeyId,
    SecretAccessKey: secretAccessKey,
    Token: sessionToken,
    Expiration: new Date(expires).toISOString(),
  });

/** As STS answers AssumeRoleWithWebIdentity. */
export const asWebIdentity = ({ accessKeyId, secretAccessKey, sessionToken }: Temporary, expires: number): string =>
  `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey><SessionToken>${sessionToken}</SessionToken><Expiration>${new Date(expires).toISOString()}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;

/** As a shared credentials file holds them. */
export const asFile = ({ accessKeyId, secretAccessKey, sessionToken }: Temporary): string =>
  `[default]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\naws_session_token = ${sessionToken}\n`;
