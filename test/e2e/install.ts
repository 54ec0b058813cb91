/** A cluster, its images, and the chart on it. */

import { spawnSync } from 'node:child_process';
import { toolchains } from '../../src/contracts/toolchains.ts';
import { checkout, cluster, environment, helm, IMAGES, imageOf, inNamespace, kubectl, NAMESPACE, VALUES } from './cluster.ts';
import { eventually, step } from './steps.ts';

export async function install(reuse: boolean): Promise<void> {
  await step('a cluster with two nodes', async () => {
    if (!(reuse && spawnSync('scripts/cluster', ['enter', 'true'], { cwd: checkout, env: environment }).status === 0)) await cluster('up');
    return undefined;
  });
  await step('its images', async () => {
    await cluster('servers');
    await cluster(
      'load',
      ...IMAGES.map((name) => imageOf(name)),
      'docker.io/library/nats:2.14-alpine',
      'docker.io/minio/minio:RELEASE.2025-09-07T16-13-09Z',
    );
    return undefined;
  });
  await step('helm install, in a namespace that enforces `restricted`', async () => {
    await kubectl('create', 'namespace', NAMESPACE);
    await kubectl('label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted');
    await helm('install', 'filemill', 'charts/filemill', ...VALUES, '--wait', '--timeout', '4m');
    return undefined;
  });
  await step(
    'helm test',
    async () => /converted a PNG.*/.exec(await helm('test', 'filemill', '--logs', '--timeout', '2m'))?.[0] ?? 'no word of it',
  );

  await step('each pool has reported its engines', async () => {
    for (const pool of toolchains)
      await eventually(
        pool,
        () => inNamespace('get', 'tp', pool, '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'),
        (ready) => ready === 'True',
      );
    return undefined;
  });
}
