/** What is told of a pool when something about it is odd: a worker that runs and says nothing, Jobs without pods, a namesake, a status that is refused. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TOOLCHAIN_POOLS } from '../../src/controller/pools/objects.ts';
import { eventually } from '../kit/api/wire.ts';
import {
  aPool,
  applyPool,
  type Controller,
  condition,
  installResources,
  jobsOf,
  type Pool,
  startController,
} from '../kit/controller/controller.ts';
import { ACCOUNT, controllerAccount } from '../kit/controller/controller-account.ts';
import { type Crew, startStandIns } from '../kit/controller/stand-ins.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { type Servers, startNats } from '../kit/nats/nats.ts';

const HOME = 'filemill';
let kubernetes: Cluster;
let servers: Servers;
let controller: Controller;
let crew: Crew;

beforeAll(async () => {
  [kubernetes, servers] = await Promise.all([startKubernetes({ nodes: { image: 1 } }), startNats()]);
  const { kube } = kubernetes;
  await installResources(kubernetes);
  for (const name of [HOME, 'other', 'team']) await kubernetes.kubectl(['create', 'namespace', name]);
  await controllerAccount(kubernetes, 'all-namespaces.yaml', HOME);
  const nats = await servers.connect();
  // Workers of `other` have no stand-ins: their pods run, and report nothing.
  crew = await startStandIns({ kube, nats, namespace: HOME, serviceMs: () => 50 });
  // As a pod, whose account's token lies in a folder of ours.
  const { environment, folder } = await kubernetes.podOf({ name: ACCOUNT, namespace: HOME });
  controller = await startController({
    kubeconfig: '',
    environment,
    natsUrl: servers.addresses.join(','),
    // Its namespace is the pod's.
    settings: {
      controller: { namespace: undefined, serviceAccount: folder, allNamespaces: true, poolNamespaces: [HOME, 'other'], silentSeconds: 3 },
    },
  });
}, 120_000);
afterAll(async () => {
  await crew?.close();
  await controller?.stop();
  await Promise.all([kubernetes?.stop(), servers?.stop()]);
});

const read = (namespace: string, name: string) => kubernetes.kube.get<Pool>(TOOLCHAIN_POOLS, { namespace, name });
const series = async (pool: string): Promise<ReadonlyMap<string, number>> => {
  const text = await (await fetch(`${controller.url}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.includes(`pool="${pool}"`) && !line.includes('le='));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf('{')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
};

it('a pod that runs without a heartbeat makes its pool Degraded after a time, naming the pod', async () => {
  await applyPool(kubernetes.kube, aPool('mute', { standby: 1, capacity: 1 }, { namespace: 'other' }));
  const pool = await eventually(
    async () => {
      const seen = await read('other', 'mute');
      return condition(seen, 'Degraded')?.status === 'True' && seen;
    },
    'it is degraded',
    40_000,
  );
  expect(condition(pool, 'Degraded')?.reason).toBe('WorkersSilent');
  expect(condition(pool, 'Degraded')?.message).toMatch(/^The pod filemill-mute-0-\S+ has run for 3 s without a heartbeat from its worker/);
  expect(condition(pool, 'Ready')?.status).toBe('False');
}, 60_000);

it('Jobs for which Kubernetes creates no pods do not count as workers', async () => {
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none', namespace: 'other' }, spec: { hard: { pods: '1' } } };
  await kubernetes.kubectl(['apply', '-f', '-'], JSON.stringify(quota));
  await eventually(
    async () => {
      const { stdout } = await kubernetes.kubectl(['get', 'quota/none', '--namespace=other', '--output=jsonpath={.status.used.pods}']);
      return stdout === '1';
    },
    'the quota is used up',
    30_000,
  );
  await applyPool(kubernetes.kube, aPool('podless', { standby: 2, capacity: 2 }, { namespace: 'other' }));
  const pool = await eventually(
    async () => {
      const seen = await read('other', 'podless');
      return condition(seen, 'Degraded')?.reason === 'PodRefused' && seen;
    },
    'its pods are refused',
    40_000,
  );
  expect((await jobsOf(kubernetes.kube, 'podless', 'other')).length).toBeGreaterThan(0);
  expect(pool.status?.workers).toBe(0);
}, 60_000);

it('a pool in a namespace that the service does not accept gets no name and no worker, however old it is', async () => {
  await applyPool(kubernetes.kube, aPool('claimed', { standby: 1 }, { namespace: 'team' }));
  const theirs = await eventually(
    async () => {
      const seen = await read('team', 'claimed');
      return condition(seen, 'Stalled')?.status === 'True' && seen;
    },
    'it is told so',
    30_000,
  );
  expect(condition(theirs, 'Degraded')?.reason).toBe('NamespaceRefused');
  expect(condition(theirs, 'Ready')).toMatchObject({
    status: 'False',
    message: 'This service accepts pools only in the namespaces filemill, other; this one is in team.',
  });
  // Its age is in whole seconds.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await applyPool(kubernetes.kube, aPool('claimed', { standby: 1 }, { namespace: HOME }));
  await eventually(async () => condition(await read(HOME, 'claimed'), 'Ready')?.reason === 'Serving', 'the service has the name', 30_000);
  expect(await jobsOf(kubernetes.kube, 'claimed', 'team')).toEqual([]);
}, 90_000);

it('a worker whose Job was deleted without its pod is asked to retire', async () => {
  await applyPool(kubernetes.kube, aPool('orphaned', { standby: 1, capacity: 1 }, { namespace: HOME }));
  await eventually(async () => (await read(HOME, 'orphaned')).status?.idle === 1, 'a worker', 30_000);
  const [before] = [...crew.there].flatMap(([pod, { pool }]) => (pool === 'orphaned' ? [pod] : []));
  const { code, stderr } = await kubernetes.kubectl(['delete', 'job/filemill-orphaned-0', `--namespace=${HOME}`, '--cascade=orphan']);
  expect([code, stderr]).toEqual([0, '']);
  const phase = async () => {
    const { stdout } = await kubernetes.kubectl(['get', `pod/${before}`, `--namespace=${HOME}`, '--output=jsonpath={.status.phase}']);
    return stdout;
  };
  expect(await phase()).toBe('Running');
  await eventually(async () => (await phase()) !== 'Running', 'it has left', 60_000);
  // And one of the pool's own is there.
  await eventually(
    async () => {
      const { status } = await read(HOME, 'orphaned');
      return status?.workers === 1 && status.idle === 1;
    },
    'another has come',
    30_000,
  );
}, 150_000);

it('a pool that is deleted takes no metrics of an older pool of the same name along', async () => {
  await applyPool(kubernetes.kube, aPool('twice', { standby: 1 }, { namespace: HOME }));
  await eventually(async () => (await series('twice')).get('filemill_pool_idle_workers') === 1, 'its worker', 30_000);
  // Its age is in whole seconds.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await applyPool(kubernetes.kube, aPool('twice', {}, { namespace: 'other' }));
  await eventually(async () => condition(await read('other', 'twice'), 'Degraded')?.reason === 'NameTaken', 'the name is taken', 30_000);
  const degraded = async (namespace: string) => {
    const text = await (await fetch(`${controller.url}/metrics`)).text();
    return new RegExp(`^filemill_pool_degraded\\{pool="twice",pool_namespace="${namespace}"\\} (\\d)$`, 'm').exec(text)?.[1];
  };
  expect([await degraded(HOME), await degraded('other')]).toEqual(['0', '1']);
  const made = (await series('twice')).get('filemill_pool_workers_created_total');
  await kubernetes.kube.remove(TOOLCHAIN_POOLS, { name: 'twice', namespace: 'other' });
  // The next one of its kind is looked at after it.
  await applyPool(kubernetes.kube, aPool('after', { capacity: 0 }, { namespace: 'other' }));
  await eventually(async () => (await series('after')).has('filemill_pool_live_workers'), 'the next is seen', 30_000);
  expect([await degraded(HOME), await degraded('other')]).toEqual(['0', undefined]);
  const now = await series('twice');
  expect([now.get('filemill_pool_idle_workers'), now.get('filemill_pool_workers_created_total')]).toEqual([1, made]);
}, 120_000);

it('metrics follow the pool although its status cannot be written', async () => {
  const clusterRole = ['patch', 'clusterrole/filemill-controller', '--type=json'];
  const { stdout } = await kubernetes.kubectl(['get', 'clusterrole/filemill-controller', '--output=json']);
  const { rules } = JSON.parse(stdout) as { rules: { resources: string[] }[] };
  const at = rules.findIndex(({ resources }) => resources.includes('toolchainpools/status'));
  const may = (resources: string[]) =>
    kubernetes.kubectl([
      ...clusterRole,
      `--patch=${JSON.stringify([{ op: 'replace', path: `/rules/${at}/resources`, value: resources }])}`,
    ]);
  await may(['conversionjobs/status']);
  await eventually(
    async () => {
      const who = `--as=system:serviceaccount:${HOME}:${ACCOUNT}`;
      const { code } = await kubernetes.kubectl(['auth', 'can-i', 'patch', 'tp', '--subresource=status', who, `--namespace=${HOME}`]);
      return code !== 0;
    },
    'the status is refused',
    20_000,
  );
  const before = (await read(HOME, 'twice')).status;
  await applyPool(kubernetes.kube, aPool('twice', { standby: 3 }, { namespace: HOME }));
  await eventually(async () => (await series('twice')).get('filemill_pool_idle_workers') === 3, 'three are told of', 40_000);
  expect((await read(HOME, 'twice')).status).toEqual(before);
  await may(rules[at]?.resources ?? []);
  await eventually(async () => (await read(HOME, 'twice')).status?.idle === 3, 'the status follows', 60_000);
}, 150_000);
