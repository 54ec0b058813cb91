/**
 * Real files through real workers, whose pods, nodes, controllers and Kubernetes itself fail meanwhile: each file comes back, and as itself.
 *
 * Slow: the store stands still for 20 s, longer than a lease lasts, and real files are converted before and after each fault.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Pod } from '../../src/controller/pools/objects.ts';
import { PODS } from '../../src/kube/resource.ts';
import { eventually } from '../kit/api/wire.ts';
import { aPool, applyPool, installResources, isFinished, jobsOf, poolNamed } from '../kit/controller/controller.ts';
import { controllerAccount } from '../kit/controller/controller-account.ts';
import { type PodProcesses, startPodProcesses } from '../kit/controller/pod-processes.ts';
import { expectRed, redPicture } from '../kit/controller/red-pictures.ts';
import { type Replicas, startReplicas } from '../kit/controller/replicas.ts';
import { rounds } from '../kit/exec/rounds.ts';
import { type FaultyProxy, startFaultyProxy } from '../kit/kube/faulty-proxy.ts';
import { type Cluster as Kubernetes, startKubernetes } from '../kit/kube/kubernetes.ts';
import { type Cluster as Service, startCluster } from '../kit/roles/cluster.ts';
import { convert, untilEnded } from '../kit/roles/service.ts';

const POOL = 'pictures';
const CAPACITY = 2;
/** To which it is edited under way. */
const RAISED = 3;
/** Between two files, ms: a machine of two cores has all servers to run as well. */
const EVERY_MS = rounds(400, 1_200);
/** How many are sent at least. */
const LEAST = rounds(60, 20);

let kubernetes: Kubernetes;
let service: Service;
let proxy: FaultyProxy;
let replicas: Replicas;
let pods: PodProcesses;
let url: string;

beforeAll(async () => {
  [kubernetes, service] = await Promise.all([startKubernetes({ nodes: { image: 2 } }), startCluster()]);
  await installResources(kubernetes);
  pods = await startPodProcesses(kubernetes.kube, 'default');
  proxy = await startFaultyProxy(await controllerAccount(kubernetes), 'proxy');
  const natsUrl = service.nats.addresses.join(',');
  replicas = await startReplicas(2, kubernetes, { kubeconfig: proxy.kubeconfig, natsUrl });
  url = (await service.start('api', {}, { pools: { source: 'controller' } })).url ?? '';
}, 180_000);
afterAll(async () => {
  await replicas?.stop();
  await proxy?.close();
  await pods?.close();
  await Promise.all([kubernetes?.stop(), service?.stop()]);
});

const pool = (spec: Readonly<Record<string, unknown>> = {}) =>
  applyPool(kubernetes.kube, aPool(POOL, { capacity: CAPACITY, standby: 1, idleSeconds: 5, terminationGraceSeconds: 10, ...spec }));
const send = async (red: number) =>
  convert(url, { name: `p${red}.png`, bytes: await redPicture(red) }, 'jpg', {}, { prefer: 'respond-async' });

/** Sends one after the other until told to stop. @returns how red each accepted job's picture is */
function underLoad() {
  const accepted = new Map<string, number>();
  const stopping = new AbortController();
  const sending = (async () => {
    for (let sent = 0; !stopping.signal.aborted; sent++) {
      const red = (sent * 37) % 256;
      const { data } = await send(red);
      if (data !== undefined) accepted.set(data.job_id, red);
      await pause(EVERY_MS, undefined, { signal: stopping.signal }).catch(() => {});
    }
  })();
  return {
    accepted,
    async stop() {
      stopping.abort();
      await sending;
    },
  };
}

/** A new file is converted. */
async function works() {
  const { data } = await send(200);
  await expectRed(url, await untilEnded(url, data?.job_id ?? '', 60_000), 200);
}
const someone = () => eventually(() => [...pods.running.keys()].at(-1), 'a worker runs', 30_000);
const isOver = (pod: string) => eventually(() => !pods.running.has(pod), `${pod} is over`, 30_000);

describe('workers under load', () => {
  it('lose no file, whatever happens to them, their controllers and Kubernetes', async () => {
    await pool();
    await eventually(async () => (await poolNamed(kubernetes.kube, POOL)).status?.idle === 1, 'one waits', 60_000);
    const load = underLoad();
    await works();

    const killed = await someone();
    pods.running.get(killed)?.kill('SIGKILL');
    await replicas.takeover((leader) => leader.child.kill('SIGKILL'));
    await works();

    const evicted = await someone();
    const eviction = { metadata: { name: evicted, namespace: 'default' } };
    await kubernetes.kube.request('POST', `/api/v1/namespaces/default/pods/${evicted}/eviction`, eviction);
    await isOver(evicted);
    await pool({ capacity: RAISED });

    await kubernetes.killApi();
    await pause(2_000);
    await kubernetes.startApi();
    await works();

    await kubernetes.freezeEtcd();
    await pause(20_000);
    kubernetes.thawEtcd();
    proxy.cut();
    await works();

    const [job] = (await jobsOf(kubernetes.kube, POOL)).filter((one) => !isFinished(one));
    await kubernetes.kubectl(['delete', 'job', job?.metadata.name ?? '', '--wait=false']);
    const { spec } = await kubernetes.kube.get<Pod>(PODS, { name: await someone(), namespace: 'default' });
    await kubernetes.setNodeReady(spec?.nodeName ?? '', 'Unknown');
    await works();
    await kubernetes.setNodeReady(spec?.nodeName ?? '', 'True');

    await load.stop();
    for (const [id, red] of load.accepted) await expectRed(url, await untilEnded(url, id, 90_000), red);
    expect(load.accepted.size).toBeGreaterThan(LEAST);
    await eventually(
      async () => {
        const { status } = await poolNamed(kubernetes.kube, POOL);
        return status?.desired === 1 && status.workers === 1 && status.idle === 1 && pods.running.size === 1;
      },
      'it is as declared',
      60_000,
    );
  }, 400_000);
});
