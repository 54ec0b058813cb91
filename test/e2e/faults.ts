/** What breaks, and that each accepted file comes back nevertheless. */
import { convert, load } from './client.ts';
import { base, crash, inNamespace, kubectl, stayingPods } from './cluster.ts';
import { blobOf, type E2eFiles } from './files.ts';
import { eventually, must, step } from './steps.ts';

interface Pods {
  readonly items: readonly {
    readonly status: { readonly containerStatuses?: readonly { readonly ready: boolean; readonly restartCount: number }[] };
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  }[];
}
/** How often containers of the trial's servers were started again; -1 while one of them is not ready. */
function restartsOf(text: string): number {
  const servers = (JSON.parse(text) as Pods).items.filter(({ metadata }) =>
    /^(nats|minio)$/.test(metadata.labels['app.kubernetes.io/component'] ?? ''),
  );
  const states = servers.flatMap(({ status }) => status.containerStatuses ?? []);
  if (states.length !== 2 || states.some(({ ready }) => !ready)) return -1;
  return states.reduce((sum, { restartCount }) => sum + restartCount, 0);
}

export async function breakThings(files: E2eFiles): Promise<void> {
  await step("a worker's process is killed while it converts", async () => {
    const job = convert(base, await blobOf(files.long, 'long.mp4'), 'webm');
    const holds = '-o=jsonpath={.status.busy}';
    await eventually(
      'a busy worker',
      () => inNamespace('get', 'tp', 'media', holds),
      (busy) => busy === '1',
      60_000,
    );
    const pods = await inNamespace(
      'get',
      'pods',
      '-l',
      'filemill.io/pool=media',
      '--field-selector=status.phase=Running',
      '-o',
      'jsonpath={.items[*].metadata.name}',
    );
    const start = performance.now();
    for (const pod of pods.split(' ')) await crash('main.js worker', `WORKER_NAME=${pod}`);
    must((await job).bytes.length > 0, 'its video is empty');
    return `its job ended well ${((performance.now() - start) / 1000).toFixed(1)} s after that`;
  });
  await step('the leading controller is deleted', async () => {
    const holder = () => inNamespace('get', 'lease', 'filemill-controller', '-o', 'jsonpath={.spec.holderIdentity}');
    // After the step before, one that is on its way out may hold the lease still.
    const { before, leader } = await eventually(
      'a leader that stays',
      async () => {
        const held = await holder();
        const controllers = await stayingPods('app.kubernetes.io/component=controller');
        return { before: held, leader: controllers.find((name) => held.startsWith(name)) ?? '' };
      },
      (found) => found.leader !== '',
    );
    const start = performance.now();
    await inNamespace('delete', 'pod', leader, '--wait=false');
    await eventually('another leader', holder, (now) => now !== '' && now !== before, 60_000);
    return `another leads after ${((performance.now() - start) / 1000).toFixed(1)} s`;
  });
  for (const server of ['nats-server', 'minio server'])
    await step(`${server.split(' ')[0]} crashes under load`, async () => {
      const restarts = () => inNamespace('get', 'pods', '-o', 'json').then(restartsOf);
      const before = await restarts();
      const stop = load(base, files.photo);
      await crash(`^${server}`);
      await eventually('its pod', restarts, (now) => now > before, 90_000);
      const { done, failed } = await stop();
      must(failed.length === 0 && done > 0, `${failed.length} of ${done + failed.length} jobs failed: ${failed[0]}`);
      return `${done} jobs, none failed`;
    });
  await step("the trial's NATS and MinIO are deleted, and with them all that they had stored", async () => {
    const start = performance.now();
    await inNamespace('delete', 'pod', 'filemill-nats-0', 'filemill-minio-0');
    const photo = [new Blob([files.photo]), 'photo.jpg'] as const;
    const { bytes } = await eventually(
      'a photo',
      () => convert(base, photo, 'webp'),
      () => true,
      120_000,
    );
    must(bytes.length > 0, 'the photo is empty');
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    for (const role of ['api', 'controller']) await inNamespace('rollout', 'status', `deployment/filemill-${role}`, '--timeout=60s');
    return `the next photo came back ${seconds} s after that`;
  });
  await step('the workers of a node are drained', async () => {
    const job = convert(base, await blobOf(files.long, 'long.mp4'), 'webm');
    await eventually(
      'a busy worker',
      () => inNamespace('get', 'tp', 'media', '-o=jsonpath={.status.busy}'),
      (busy) => busy === '1',
      60_000,
    );
    await kubectl(
      'drain',
      'node1',
      '--ignore-daemonsets',
      '--delete-emptydir-data',
      '--pod-selector=app.kubernetes.io/component=worker',
      '--timeout=100s',
    );
    await kubectl('uncordon', 'node1');
    must((await job).bytes.length > 0, 'its video is empty');
    return 'the conversion that ran there ended well';
  });
}
