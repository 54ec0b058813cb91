/** Conversions a minute against nodes. Each worker gets a quarter of a core, so that the one machine below both nodes is not what is measured. */
import { load } from './client.ts';
import { base, inNamespace, kubectl } from './cluster.ts';
import type { E2eFiles } from './files.ts';
import { eventually, must, step } from './steps.ts';

const WORKERS_EACH = 2;
/** Two clients each. */
const LOADS = 4;
const SECONDS = 30;

interface Spec {
  readonly capacity?: number;
  readonly standby: number;
  readonly slots: number;
  readonly resources: { readonly limits: Readonly<Record<string, string>>; readonly requests: Readonly<Record<string, string>> };
}

const patch = (spec: object) => inNamespace('patch', 'tp', 'image', '--type=merge', `--patch=${JSON.stringify({ spec })}`);

/** Waits until so many idle workers with this share of a core run on so many nodes. */
async function workersOn(nodes: number, cpu: string): Promise<void> {
  const path = '{range .items[*]}{.spec.containers[0].resources.limits.cpu} {.spec.nodeName}{"\\n"}{end}';
  const running = ['-l', 'filemill.io/pool=image', '--field-selector=status.phase=Running'];
  const workers = async () => (await inNamespace('get', 'pods', ...running, '-o', `jsonpath=${path}`)).trim().split('\n');
  await eventually(
    `${nodes * WORKERS_EACH} workers on ${nodes} nodes`,
    async () => ({ pods: await workers(), idle: Number(await inNamespace('get', 'tp', 'image', '-o=jsonpath={.status.idle}')) }),
    ({ pods, idle }) =>
      idle === nodes * WORKERS_EACH && pods.length === idle && new Set(pods).size === nodes && pods.every((pod) => pod.startsWith(cpu)),
    180_000,
  );
}

async function aMinute(photo: Buffer): Promise<number> {
  const stops = Array.from({ length: LOADS }, () => load(base, photo));
  const start = performance.now();
  await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000));
  const counts = await Promise.all(stops.map((stop) => stop()));
  const seconds = (performance.now() - start) / 1000;
  const failed = counts.flatMap((count) => count.failed);
  must(failed.length === 0, `${failed.length} jobs failed: ${failed[0]}`);
  return (counts.reduce((sum, { done }) => sum + done, 0) / seconds) * 60;
}

export async function throughput({ photo }: E2eFiles): Promise<void> {
  const { spec } = JSON.parse(await inNamespace('get', 'tp', 'image', '-o', 'json')) as { spec: Spec };
  const cpu = '250m';
  const found: number[] = [];
  try {
    for (const nodes of [1, 2])
      await step(`photos a minute with ${nodes} ${nodes === 1 ? 'node' : 'nodes'} of ${WORKERS_EACH} workers`, async () => {
        await kubectl(nodes === 1 ? 'cordon' : 'uncordon', 'node2');
        if (nodes === 2) await kubectl('cordon', 'node1');
        await patch({
          capacity: nodes * WORKERS_EACH,
          standby: nodes * WORKERS_EACH,
          slots: 1,
          resources: { requests: { cpu }, limits: { cpu } },
        });
        await workersOn(nodes, cpu);
        const count = await aMinute(photo);
        found.push(count);
        return `${count.toFixed(0)} a minute${nodes === 1 ? '' : `, ${(count / (found[0] ?? count)).toFixed(2)} times as many`}`;
      });
  } finally {
    await kubectl('uncordon', 'node1', 'node2');
    const { limits } = spec.resources;
    // A patch removes what it names as null.
    await patch({
      capacity: spec.capacity ?? null,
      standby: spec.standby,
      slots: spec.slots,
      resources: { ...spec.resources, limits: { cpu: null, ...limits } },
    });
  }
}
