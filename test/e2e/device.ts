/** A node offers a device, and a pool asks for it: its pod is placed there, and its worker takes an order. */
import { send } from './client.ts';
import { base, helm, inNamespace, kubectl, metricsOf, VALUES } from './cluster.ts';
import type { E2eFiles } from './files.ts';
import { eventually, must, step } from './steps.ts';

/** Counted by the scheduler and by the kubelet, as those of device plugins are; no file comes with it. */
const DEVICE = 'example.com/accelerator';
const POOL = 'accelerated';

export async function useDevice(files: E2eFiles): Promise<void> {
  await step('a pool asks for a device that no node has: its pod waits', async () => {
    const spec = ['toolchain=image', 'standby=1', 'capacity=1', 'workDirSize=1Gi', 'preference=-10', 'resources.requests.cpu=50m'];
    const asked = `resources.limits.example\\.com/accelerator=1`;
    const values = ['enabled=true', ...[...spec, asked].map((one) => `spec.${one}`)].map((one) => `pools.${POOL}.${one}`);
    await helm('upgrade', 'filemill', 'charts/filemill', ...VALUES, '--set', values.join());
    const message = await eventually(
      'a pod that waits for the device',
      () => inNamespace('get', 'pods', '-l', `filemill.io/pool=${POOL}`, '-o', 'jsonpath={.items[*].status.conditions[*].message}'),
      (said) => said.includes(`Insufficient ${DEVICE}`),
      240_000,
    );
    return message;
  });

  await step('a node offers the device: the pod is placed there, and takes an order', async () => {
    const node = await kubectl('get', 'nodes', '-o', 'jsonpath={.items[0].metadata.name}');
    const offered = { [DEVICE]: '1' };
    const patch = JSON.stringify({ status: { capacity: offered, allocatable: offered } });
    await kubectl('patch', 'node', node, '--subresource=status', '--type=merge', `--patch=${patch}`);
    const placed = ['get', 'pods', '-l', `filemill.io/pool=${POOL}`, '-o', 'jsonpath={.items[0].spec.nodeName}'];
    await eventually(
      'its node',
      () => inNamespace(...placed),
      (name) => name === node,
    );
    const busyOrIdle = ['get', 'tp', POOL, '-o', 'jsonpath={.status.idle}'];
    await eventually(
      'its worker',
      () => inNamespace(...busyOrIdle),
      (idle) => idle === '1',
      240_000,
    );
    // Preferred: it serves the toolchain's orders while it has room.
    const photo = [new Blob([Uint8Array.from(files.photo)]), 'photo.jpg'] as const;
    must(
      (await (await send(base, '/api/v1/convert', [['file', ...photo]], { to_format: 'png' })).ended()).status === 'done',
      'the job failed',
    );
    const metrics = await metricsOf(`filemill.io/pool=${POOL}`);
    must(/^filemill_conversion_seconds_count\{.*\} [1-9]/m.test(metrics), 'another pool took the order');
    await helm('rollback', 'filemill', '1', '--wait', '--timeout', '4m');
    const remove = JSON.stringify({ status: { capacity: { [DEVICE]: null }, allocatable: { [DEVICE]: null } } });
    await kubectl('patch', 'node', node, '--subresource=status', '--type=merge', `--patch=${remove}`);
    return node;
  });
}
