/** Who may speak to the API server, and the files that say so. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Kube } from '../../../src/kube/connection/connect.ts';
import { isAlreadyExists } from '../../../src/kube/connection/error.ts';
import type { ObjectRef } from '../../../src/kube/resource.ts';

export interface Credentials {
  /** The token of an administrator (`system:masters`). */
  readonly token: string;
  /** What the API server is told of them. */
  readonly options: Readonly<Record<string, string>>;
  /** For the controllers, which sign tokens too. */
  readonly signingKey: string;
}

export async function makeCredentials(folder: string): Promise<Credentials> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const token = randomBytes(16).toString('hex');
  const paths = { tokens: join(folder, 'tokens.csv'), signing: join(folder, 'sa.key'), verifying: join(folder, 'sa.pub') };
  await Promise.all([
    writeFile(paths.tokens, `${token},admin,admin,system:masters\n`),
    writeFile(paths.signing, privateKey.export({ type: 'pkcs8', format: 'pem' })),
    writeFile(paths.verifying, publicKey.export({ type: 'spki', format: 'pem' })),
  ]);
  const options = {
    'token-auth-file': paths.tokens,
    'service-account-key-file': paths.verifying,
    'service-account-signing-key-file': paths.signing,
    'service-account-issuer': 'https://kubernetes.default.svc',
  };
  return { token, options, signingKey: paths.signing };
}

/** @param authority the API server's own certificate @returns its path */
export async function writeKubeconfig(path: string, server: string, authority: string, token: string): Promise<string> {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': (await readFile(authority)).toString('base64') } }],
    users: [{ name: 'user', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'user' } }],
    'current-context': 'test',
  };
  // JSON is YAML.
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

/** The account is made if it is not there; its namespace must be. @returns a token for two hours */
export async function tokenOf(admin: Kube, { name, namespace }: ObjectRef): Promise<string> {
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await admin.request('POST', accounts, { metadata: { name } }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  const asked = await admin.request<{ status: { token: string } }>('POST', `${accounts}/${name}/token`, {
    spec: { expirationSeconds: 7200 },
  });
  return asked.status.token;
}
