/** The policies that hold the controller's account to its pools, as manifests/admission has them, for a test's own pools and namespaces. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkout } from '../roles/service.ts';

interface Named {
  /** Namespaces of pools; `*` is every one. */
  readonly homes: readonly string[];
  readonly pools: readonly string[];
  /** Lists of NATS servers, each in JSON, or `*`. */
  readonly nats?: readonly string[];
  /** The namespace of the controller's account. */
  readonly namespace?: string;
}

/** @returns YAML, in the order in which it is to be applied */
export async function policiesFor({ homes, pools, nats = ['*'], namespace = 'filemill' }: Named): Promise<string> {
  const [controller = '', workers = ''] = await Promise.all(
    ['controller', 'workers'].map((name) => readFile(join(checkout, `manifests/admission/${name}.yaml`), 'utf8')),
  );
  const [policy = '', binding = '', ...all] = workers.split('---\n');
  const bindings = pools.map((pool) =>
    binding
      .replace('name: filemill-workers-image', `name: filemill-workers-${pool}`)
      .replace('name: image,', `name: ${pool},`)
      .replace('filemill.io/pool: image', `filemill.io/pool: ${pool}`),
  );
  const documents = [
    controller.replace(listOf('homes'), `$1'${JSON.stringify(homes)}'`),
    policy.replace(listOf('nats'), `$1'${JSON.stringify(nats)}'`),
    ...bindings,
    all
      .slice(-2)
      .join('---\n')
      .replace(/values: \[.*\]/, `values: ${JSON.stringify(pools)}`),
  ];
  return documents.join('---\n').replaceAll('serviceaccount:filemill:', `serviceaccount:${namespace}:`);
}

const listOf = (variable: string) => new RegExp(`(- name: ${variable}\\n +expression: )'.*'`);
