/** What is lost: API replicas, room on a worker's disk, a node. Each accepted file comes back nevertheless. */
import { convert, outputOf, send } from './client.ts';
import { base, cluster, inNamespace, kubectl } from './cluster.ts';
import { blobOf, type E2eFiles } from './files.ts';
import { eventually, must, step } from './steps.ts';

const secondsSince = (start: number): string => `${((performance.now() - start) / 1000).toFixed(1)} s`;
const busy = (pool: string) =>
  eventually(
    `a busy worker of ${pool}`,
    () => inNamespace('get', 'tp', pool, '-o=jsonpath={.status.busy}'),
    (workers) => Number(workers) > 0,
    60_000,
  );
export async function lose(files: E2eFiles): Promise<void> {
  await step('all API replicas are deleted while a job waits', async () => {
    await inNamespace('scale', 'toolchainpool', 'pdf', '--replicas=0');
    const waits = await send(base, '/api/v1/convert', [['file', ...(await blobOf(files.pdf, 'a.pdf'))]], { to_format: 'txt' });
    const start = performance.now();
    await inNamespace('delete', 'pods', '-l', 'app.kubernetes.io/component=api', '--wait=false');
    await inNamespace('scale', 'toolchainpool', 'pdf', '--replicas=10');
    must((await outputOf(await waits.ended())).length > 0, 'its text is empty');
    return `it ended well ${secondsSince(start)} after that`;
  });
  await step("a worker's volume is full", async () => {
    await inNamespace('patch', 'tp', 'media', '--type=merge', '--patch={"spec":{"workDirSize":"200Mi"}}');
    const job = convert(base, await blobOf(files.long, 'long.mp4'), 'webm');
    const small = 'jsonpath={.items[?(@.spec.volumes[0].emptyDir.sizeLimit=="200Mi")].metadata.name}';
    const running = ['-l', 'filemill.io/pool=media', '--field-selector=status.phase=Running'];
    const pod = await eventually(
      'a worker with the small volume',
      () => inNamespace('get', 'pods', ...running, '-o', small),
      (name) => name !== '',
      60_000,
    );
    await busy('media');
    const start = performance.now();
    // Its eviction may end it while it writes.
    await inNamespace('exec', pod, '--', 'dd', 'if=/dev/zero', 'of=/work/left-over', 'bs=1M', 'count=300', 'status=none').catch(() => '');
    await eventually(
      'its eviction',
      () => inNamespace('get', 'events', '--field-selector', `involvedObject.name=${pod},reason=Evicted`, '-o', 'name'),
      (events) => events !== '',
    );
    const evicted = secondsSince(start);
    must((await job).bytes.length > 0, 'its video is empty');
    await inNamespace('patch', 'tp', 'media', '--type=merge', '--patch={"spec":{"workDirSize":"4Gi"}}');
    return `evicted after ${evicted}, its job ended well on another worker after ${secondsSince(start)}`;
  });
  await step('a node is lost, and comes back', async () => {
    const nodeOf = (selector: string) => inNamespace('get', 'pods', '-l', selector, '-o', 'jsonpath={.items[*].spec.nodeName}');
    must(!(await nodeOf('app.kubernetes.io/component in (nats,minio)')).includes('node1'), 'NATS or MinIO runs on the node to be lost');
    // One in a pool whose nodes are all lost, one in a pool that has another node.
    const stuck = convert(base, await blobOf(files.long, 'long.mp4'), 'webm');
    const moved = convert(base, [new Blob([files.large]), 'large.png'], 'avif');
    await Promise.all([busy('media'), busy('image')]);
    const start = performance.now();
    await cluster('node', 'stop', '1');
    const noted: string[] = [];
    try {
      await eventually(
        'the node to be missed',
        () => kubectl('get', 'node', 'node1', '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'),
        (ready) => ready === 'Unknown',
        60_000,
      );
      noted.push(`missed after ${secondsSince(start)}`);
      must((await moved).bytes.length > 0, 'its picture is empty');
      noted.push(`its picture ended well elsewhere after ${secondsSince(start)}`);
      await convert(base, [new Blob([files.photo]), 'photo.jpg'], 'webp');
    } finally {
      await cluster('node', 'start', '1');
    }
    noted.push(`it was back after ${secondsSince(start)}`);
    must((await stuck).bytes.length > 0, 'its video is empty');
    noted.push(`its video ended well after ${secondsSince(start)}`);
    await kubectl('wait', '--for=condition=Ready', 'node/node1', '--timeout=60s');
    await inNamespace('wait', '--for=condition=Ready', 'tp', '--all', '--timeout=90s');
    await inNamespace('rollout', 'status', 'deployment/filemill-api', '--timeout=60s');
    return noted.join(', ');
  });
}
