/** The whole of it: a file sent to an API replica brings a worker into being on a cluster that had none, and comes back converted. */
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openNatsQueue } from '../../src/queue/nats/queue.ts';
import { eventually } from '../kit/api/wire.ts';
import { policiesFor } from '../kit/controller/admission.ts';
import {
  aPool,
  applyPool,
  type Controller,
  installResources,
  isFinished,
  jobsOf,
  poolNamed,
  startController,
} from '../kit/controller/controller.ts';
import { controllerAccount } from '../kit/controller/controller-account.ts';
import { type PodProcesses, startPodProcesses } from '../kit/controller/pod-processes.ts';
import { expectRed, redPicture } from '../kit/controller/red-pictures.ts';
import { type Cluster as Kubernetes, startKubernetes } from '../kit/kube/kubernetes.ts';
import { type Cluster as Service, startCluster } from '../kit/roles/cluster.ts';
import { convert, untilEnded } from '../kit/roles/service.ts';

let kubernetes: Kubernetes;
let service: Service;
let controller: Controller;
let pods: PodProcesses;
let url: string;

beforeAll(async () => {
  [kubernetes, service] = await Promise.all([startKubernetes({ nodes: { image: 2, office: 1 } }), startCluster()]);
  await installResources(kubernetes);
  pods = await startPodProcesses(kubernetes.kube, 'default');
  const natsUrl = service.nats.addresses.join(',');
  const kubeconfig = await controllerAccount(kubernetes);
  const nats = [JSON.stringify(service.nats.addresses)];
  const policies = await policiesFor({ homes: ['default'], pools: ['pictures'], nats, namespace: 'default' });
  expect(await kubernetes.kubectl(['apply', '--server-side', '--filename=-'], policies)).toMatchObject({ code: 0 });
  controller = await startController({ kubeconfig, natsUrl });
  const api = await service.start('api', {}, { pools: { source: 'controller' } });
  url = api.url ?? '';
}, 120_000);
afterAll(async () => {
  await pods?.close();
  await controller?.stop();
  await Promise.all([kubernetes?.stop(), service?.stop()]);
});

const routes = async () => {
  const { data } = (await (await fetch(`${url}/api/v1/formats?from=png`)).json()) as {
    data: { sources: { targets: { format: string }[] }[] };
  };
  return data.sources.flatMap(({ targets }) => targets.map(({ format }) => format));
};

describe('a cluster without workers', () => {
  it('has no route before there is a pool, and asks to try again', async () => {
    expect(await routes()).toEqual([]);
    const picture = { name: 'a.png', bytes: await redPicture(10) };
    const { status, error, headers } = await convert(url, picture, 'jpg');
    expect([status, error?.code, error?.details['retryable'], headers.get('retry-after')]).toEqual([503, 'OVERLOADED', true, '5']);
    const never = await convert(url, picture, 'mp3');
    expect([never.status, never.error?.code]).toEqual([400, 'INVALID_FORMAT']);
    const tool = async (slug: string) => (await fetch(`${url}/api/v1/tools/${slug}`, { method: 'POST', body: new FormData() })).status;
    expect([await tool('merge-pdf'), await tool('flip-image'), await tool('no-such-tool')]).toEqual([503, 501, 404]);
  });

  it('learns what a new pool can do, and is at rest again', async () => {
    await applyPool(kubernetes.kube, aPool('pictures', { capacity: 3, idleSeconds: 1, conversionsPerWorker: 4 }));
    await eventually(async () => (await routes()).includes('jpg'), 'a route', 60_000);
    await eventually(async () => (await poolNamed(kubernetes.kube, 'pictures')).status?.workers === 0, 'no worker', 60_000);
    expect(await routes()).toContain('jpg');
  }, 130_000);

  it('converts what is sent, by workers that come for it and go after their share', async () => {
    const reds = Array.from({ length: 12 }, (_, index) => 20 * index);
    const ids = await Promise.all(
      reds.map(async (red) => {
        const sent = await convert(url, { name: `p${red}.png`, bytes: await redPicture(red) }, 'jpg', {}, { prefer: 'respond-async' });
        expect(sent.status).toBe(200);
        return sent.data?.job_id ?? '';
      }),
    );
    for (const [index, id] of ids.entries()) await expectRed(url, await untilEnded(url, id), reds[index] ?? 0);
    // Each worker may do four: three lives at least.
    await eventually(async () => (await poolNamed(kubernetes.kube, 'pictures')).status?.workers === 0, 'no worker', 60_000);
    expect((await jobsOf(kubernetes.kube, 'pictures')).filter((job) => !isFinished(job))).toEqual([]);
  }, 200_000);

  it('loses nothing when a pod is deleted under its order', async () => {
    await applyPool(kubernetes.kube, aPool('pictures', { capacity: 1, standby: 1, idleSeconds: 1, terminationGraceSeconds: 6 }));
    await eventually(async () => (await poolNamed(kubernetes.kube, 'pictures')).status?.idle === 1, 'one waits', 60_000);
    const large = await sharp({
      create: { width: 3_600, height: 3_000, channels: 3, noise: { type: 'gaussian', mean: 128, sigma: 40 }, background: 'white' },
    })
      .png({ compressionLevel: 1 })
      .toBuffer();
    const { data } = await convert(url, { name: 'large.png', bytes: large }, 'webp', {}, { prefer: 'respond-async' });
    const queue = openNatsQueue(await service.nats.connect());
    await eventually(async () => (await queue.depth('pictures')).held === 1, 'it is taken', 30_000);
    const [pod = ''] = pods.running.keys();
    expect((await kubernetes.kubectl(['delete', 'pod', pod, '--wait=false'])).code).toBe(0);
    const ended = await untilEnded(url, data?.job_id ?? '', 120_000);
    expect(ended.error?.details).toBeUndefined();
    expect(ended.data?.status).toBe('done');
  }, 240_000);
});
