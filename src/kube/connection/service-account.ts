/** Credentials of a pod: its service account, whose token the kubelet mounts in a folder and rotates. */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Caller } from './caller.ts';

/** Where the kubelet mounts it (pkg/serviceaccount of Kubernetes). */
const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/** @param folder with `token`, `ca.crt` and `namespace` @throws Error saying what is missing */
export function asPod(folder: string = FOLDER): Caller {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  if (host === undefined || port === undefined)
    throw new Error('this process does not run in a pod of a cluster (KUBERNETES_SERVICE_HOST is not set): name a kubeconfig file');
  return {
    server: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    namespace: readFileSync(join(folder, 'namespace'), 'utf8').trim(),
    async credentials() {
      const [token, ca] = await Promise.all([readFile(join(folder, 'token'), 'utf8'), readFile(join(folder, 'ca.crt'))]);
      return { ca, headers: { authorization: `Bearer ${token.trim()}` } };
    },
  };
}
