/**
 * A device plugin offers a device to a kubelet, and a pool asks for it: its pod is placed on that node and has the device's files, which only a
 * program can open that the launcher lets through to them; its worker finds the device, and takes an order.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { send } from './client.ts';
import { base, clusterDir, execIn, helm, inNamespace, metricsOf, VALUES } from './cluster.ts';
import type { E2eFiles } from './files.ts';
import { eventually, must, step } from './steps.ts';

const DEVICE = 'example.com/accelerator';
const POOL = 'accelerated';
const PODS = `filemill.io/pool=${POOL}`;
/** Where the image of the toolchain that can use a device is (`IMAGES`). */
const NODE = { name: 'node1', kubelet: join(clusterDir, 'node1/kubelet') };
/** It has room for nothing: a write tells that it was opened, and that it is this file. */
const STAND_IN = '/dev/full';
const FILES = ['/dev/nvidia0', '/dev/nvidiactl'];
/** Tries to write to the first file as a converter would, and says how that ended. The launcher reports on descriptor 3. */
const TRY = (device: string): string => `
  mkdir -p /work/device
  /app/.cache/bin/launcher --cwd /work/device --memory 268435456 --data 536870912 --cpu 10 --fsize 1048576 --disk 16777216 --nproc 16 --wall 20000 \
    --report 3 --rw /work/device --rw /dev/null --ro /usr --ro /lib --ro /lib64 --ro /bin --ro /dev/zero ${device} \
    -- /bin/dd if=/dev/zero of=${FILES[0]} bs=1 count=1 3>/dev/null 2>&1
  rmdir /work/device`;

export async function useDevice(files: E2eFiles): Promise<void> {
  await step('a pool asks for a device that no node has: its pod waits', async () => {
    const spec = ['toolchain=ai', 'standby=1', 'capacity=1', 'workDirSize=1Gi', 'preference=-10', 'resources.requests.cpu=50m'];
    const asked = `resources.limits.example\\.com/accelerator=1`;
    const values = ['enabled=true', ...[...spec, asked].map((one) => `spec.${one}`)].map((one) => `pools.${POOL}.${one}`);
    await helm('upgrade', 'filemill', 'charts/filemill', ...VALUES, '--set', values.join());
    const message = await eventually(
      'a pod that waits for the device',
      () => inNamespace('get', 'pods', '-l', PODS, '-o', 'jsonpath={.items[*].status.conditions[*].message}'),
      (said) => said.includes(`Insufficient ${DEVICE}`),
      240_000,
    );
    return message;
  });

  const plugin = spawn('.cache/bin/device-plugin', [NODE.kubelet, DEVICE, STAND_IN, ...FILES], { stdio: ['ignore', 'inherit', 'inherit'] });
  plugin.on('error', () => {});
  try {
    await step('a device plugin offers one: the pod is placed on its node', async () => {
      const placed = ['get', 'pods', '-l', PODS, '-o', 'jsonpath={.items[0].spec.nodeName}'];
      await eventually(
        'its node',
        () => inNamespace(...placed),
        (name) => name === NODE.name,
      );
      const idle = ['get', 'tp', POOL, '-o', 'jsonpath={.status.idle}'];
      await eventually(
        'its worker',
        () => inNamespace(...idle),
        (count) => count === '1',
        240_000,
      );
      return NODE.name;
    });

    await step('its worker finds the device, and only a program that may open its file does', async () => {
      const log = await inNamespace('logs', '-l', PODS, '--tail=-1');
      must(/"devices":\{"nvidia":1\}/.test(log), 'the log does not tell of the device');
      const tried = (device: string) => execIn(PODS, 'sh', '-c', TRY(device));
      const [open, closed] = [await tried(`--device ${FILES[0]}`), await tried('')];
      must(open.includes('No space left on device'), `with the device: ${open}`);
      must(closed.includes('Permission denied'), `without: ${closed}`);
      return open.split('\n', 1)[0];
    });

    await step('it takes an order, which its processors work on where no program can use the device', async () => {
      // Preferred: it serves the toolchain's orders while it has room.
      const photo = [new Blob([Uint8Array.from(files.photo)]), 'photo.jpg'] as const;
      must((await (await send(base, '/api/v1/tools/remove-background', [['file', ...photo]])).ended()).status === 'done', 'the job failed');
      const metrics = await metricsOf(PODS);
      must(/^filemill_conversion_seconds_count\{.*\} [1-9]/m.test(metrics), 'another pool took the order');
      must(/^filemill_worker_devices\{[^}]*toolchain="ai"[^}]*\} \d/m.test(metrics), 'no metric tells of devices');
      await helm('rollback', 'filemill', '1', '--wait', '--timeout', '4m');
      return undefined;
    });
  } finally {
    plugin.kill();
  }
}
