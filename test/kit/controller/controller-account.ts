/** The controller's own account, with the rights that the manifests give it and no others. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cluster } from '../kube/kubernetes.ts';
import { checkout } from '../roles/service.ts';

export const ACCOUNT = 'filemill-controller';

/** @param manifest in manifests/rbac @param namespace where the controller is, in place of the one that the manifest names @returns path of a kubeconfig */
export async function controllerAccount(cluster: Cluster, manifest = 'controller.yaml', namespace = 'default'): Promise<string> {
  const text = await readFile(join(checkout, 'manifests/rbac', manifest), 'utf8');
  const { code, stderr } = await cluster.kubectl(['apply', '-f', '-'], text.replaceAll('namespace: filemill', `namespace: ${namespace}`));
  if (code !== 0) throw new Error(stderr);
  return cluster.kubeconfigFor({ name: ACCOUNT, namespace });
}
