/** Credentials from a kubeconfig file, for people and processes outside the cluster, by any login method that it names. */
import type { OutgoingHttpHeaders } from 'node:http';
import type { RequestOptions } from 'node:https';
import type { Caller } from './caller.ts';

/** @throws Error saying what is missing */
export async function asKubeconfig(path: string): Promise<Caller> {
  // Imported only here: it loads every type of Kubernetes, 85 MB of memory, and a pod needs none of it.
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromFile(path);
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error(`${path}: the current context names no cluster`);
  return {
    server: new URL(cluster.server),
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
    async credentials() {
      const options: RequestOptions & { headers: OutgoingHttpHeaders } = { headers: {} };
      await config.applyToHTTPSOptions(options);
      const { agent, headers, ...rest } = options;
      // A token file may end with a line break, which a header must not contain.
      const trimmed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value).trim()]));
      // The library's agent opens a connection for each request: use it only for a proxy, which ours does not support.
      return { ...rest, headers: trimmed, ...(cluster.proxyUrl !== undefined && typeof agent === 'object' && { agent: agent as never }) };
    },
  };
}
