/** The rights of the controller's account against what it does: the API server's own log of a tour through all that it can do. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { submissionSubjects } from '../../src/contracts/messages/submission.ts';
import { CONVERSION_JOBS, FINALIZER } from '../../src/controller/conversion-jobs/resource.ts';
import { JOBS, type KubeObject } from '../../src/kube/resource.ts';
import type { Nats } from '../../src/nats/connection.ts';
import { answer } from '../../src/nats/requests.ts';
import { openNatsQueue } from '../../src/queue/nats/queue.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { eventually } from '../kit/api/wire.ts';
import {
  aPool,
  applyPool,
  type Controller,
  condition,
  documents,
  installResources,
  jobsOf,
  poolNamed,
  startController,
} from '../kit/controller/controller.ts';
import { ACCOUNT, controllerAccount } from '../kit/controller/controller-account.ts';
import { sendOrders } from '../kit/controller/orders.ts';
import { type Crew, startStandIns } from '../kit/controller/stand-ins.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { type Servers, startNats } from '../kit/nats/nats.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Granted, and not met on this tour. */
const NOT_ON_TOUR: Readonly<Record<string, string>> = {
  'patch events.k8s.io/events': 'an Event is counted again a minute after it was made, at the soonest',
  'list coordination.k8s.io/leases': 'a candidate that wins at once stops before it has asked',
  'watch coordination.k8s.io/leases': 'the same',
};
const REFUSED = { error: { code: 'INVALID_FORMAT', message: 'no', details: { request_id: '', retryable: false } } };

let kubernetes: Cluster;
let servers: Servers;
let nats: Nats;
let queue: Queue;
let crew: Crew;
let kubeconfig: string;
const controllers: Controller[] = [];
let serviceMs = 50;

const start = async (settings = {}, config = kubeconfig) => {
  const controller = await startController({
    kubeconfig: config,
    natsUrl: servers.addresses.join(','),
    settings: { controller: settings },
  });
  controllers.push(controller);
  return controller;
};

beforeAll(async () => {
  [kubernetes, servers] = await Promise.all([startKubernetes({ nodes: { image: 1 } }), startNats()]);
  nats = await servers.connect();
  queue = openNatsQueue(nats);
  await installResources(kubernetes);
  kubeconfig = await controllerAccount(kubernetes);
  crew = await startStandIns({
    kube: kubernetes.kube,
    nats,
    namespace: 'default',
    serviceMs: () => serviceMs,
    comesUp: (pool) => pool !== 'broken',
  });
}, 120_000);
afterAll(async () => {
  await crew?.close();
  await Promise.all(controllers.map((controller) => controller.stop()));
  await queue?.close();
  await Promise.all([kubernetes?.stop(), servers?.stop()]);
});

const send = (pool: string) => sendOrders(queue, pool, 1);
const workersOf = (pool: string) => [...crew.there.values()].filter((worker) => worker.pool === pool).length;
const reasonOf = async (pool: string) => condition(await poolNamed(kubernetes.kube, pool), 'Degraded')?.reason;

/** As `create batch/jobs`. */
const granted = async (manifest: string) =>
  new Set(
    (await documents(`manifests/rbac/${manifest}`))
      .flatMap((document) => (document as KubeObject & { readonly rules?: readonly Rule[] }).rules ?? [])
      .flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`))),
      ),
  );

describe("the controller's account", () => {
  it('does what it may, all of it, and asks for nothing else', async () => {
    const controller = await start();
    await applyPool(kubernetes.kube, aPool('tour', { standby: 1, capacity: 2 }));
    await eventually(() => workersOf('tour') === 1, 'a worker', 120_000);
    // A name that is taken by something else.
    const taken = { restartPolicy: 'Never', containers: [{ name: 'other', image: 'other' }], nodeSelector: { is: 'nowhere' } };
    await kubernetes.kube.create(JOBS, {
      metadata: { name: 'filemill-second-0', namespace: 'default' },
      spec: { template: { spec: taken } },
    } as KubeObject);
    await applyPool(kubernetes.kube, aPool('second', { standby: 1 }));
    await eventually(() => workersOf('second') === 1, 'a worker under another name', 120_000);
    // Pods that fail.
    await applyPool(kubernetes.kube, aPool('broken', { capacity: 1 }));
    await eventually(async () => (await reasonOf('broken')) === 'WorkersFail', 'it is degraded', 120_000);
    // Rolled.
    await applyPool(kubernetes.kube, aPool('tour', { standby: 1, capacity: 2, resources: { limits: { cpu: '10m' } } }));
    // Busy for long enough to be guarded.
    serviceMs = 40_000;
    await send('second');
    await eventually(
      async () => (await kubernetes.kubectl(['get', 'pods', '-o', 'yaml'])).stdout.includes('karpenter.sh/do-not-disrupt'),
      'it is guarded',
      120_000,
    );
    // And pods that may not be.
    await kubernetes.kubectl(['create', 'quota', 'none', '--hard=pods=0']);
    await applyPool(kubernetes.kube, aPool('refused', { capacity: 1 }));
    await eventually(async () => (await reasonOf('refused')) === 'PodRefused', 'the refusal is known', 120_000);
    // A ConversionJob of an earlier version: loses its finalizer, is told of its end, and removed when its time is over.
    const unsubscribe = answer(nats, submissionSubjects.convert, async () => JSON.stringify(REFUSED));
    await kubernetes.kube.create(CONVERSION_JOBS, {
      metadata: { name: 'short', namespace: 'default', finalizers: [FINALIZER] },
      spec: { source: { key: 'a.png' }, toFormat: 'webp', ttlSecondsAfterFinished: 1 },
    } as KubeObject);
    await eventually(
      async () => (await kubernetes.kubectl(['get', 'conversionjobs', '-o', 'name'])).stdout === '',
      'it has come and gone',
      120_000,
    );
    unsubscribe();
    await controller.stop('SIGTERM');

    const user = `system:serviceaccount:default:${ACCOUNT}`;
    const calls = (await kubernetes.auditLog()).filter((event) => event.user.username === user && event.objectRef !== undefined);
    const refused = calls.filter(({ responseStatus }) => responseStatus?.code === 403);
    // A quota answers with 403 too, and is none of ours.
    expect(refused.filter(({ verb, objectRef }) => verb !== 'create' || objectRef?.resource !== 'jobs')).toEqual([]);
    const used = new Set(
      calls.map(({ verb, objectRef: { apiGroup = '', resource, subresource } = {} }) => {
        return `${verb} ${apiGroup}/${resource}${subresource === undefined ? '' : `/${subresource}`}`;
      }),
    );
    const may = await granted('controller.yaml');
    expect([...used].filter((call) => !may.has(call)).toSorted()).toEqual([]);
    const unused = [...may].filter((call) => !used.has(call) && !(call in NOT_ON_TOUR));
    expect(unused.toSorted()).toEqual([]);
    expect(calls.every(({ objectRef }) => objectRef?.namespace === 'default')).toBe(true);
  }, 180_000);

  it('works on the pools of every namespace, where it is told to and may', async () => {
    serviceMs = 50;
    await kubernetes.kubectl(['create', 'namespace', 'team']);
    await kubernetes.kubectl(['delete', 'rolebinding', ACCOUNT]);
    const everywhere = await controllerAccount(kubernetes, 'all-namespaces.yaml');
    const begun = new Date().toISOString();
    const controller = await start({ allNamespaces: true, poolNamespaces: ['default', 'team'] }, everywhere);
    const theirs = await startStandIns({ kube: kubernetes.kube, nats, namespace: 'team', serviceMs: () => 50 });
    await applyPool(kubernetes.kube, aPool('elsewhere', { standby: 1 }, { namespace: 'team' }));
    await eventually(() => [...theirs.there.values()].some(({ pool }) => pool === 'elsewhere'), 'a worker in the other namespace', 120_000);
    expect((await jobsOf(kubernetes.kube, 'elsewhere', 'team')).length).toBe(1);
    // Names are one service's: the younger of two gets nothing, and is told why.
    await applyPool(kubernetes.kube, aPool('tour', {}, { namespace: 'team' }));
    await eventually(
      async () =>
        /NameTaken/.test((await kubernetes.kubectl(['get', 'tp/tour', '-n', 'team', '-o', 'jsonpath={.status.conditions}'])).stdout),
      'the name is taken',
      20_000,
    );
    await theirs.close();
    await controller.stop('SIGTERM');
    const refused = (await kubernetes.auditLog()).filter(
      ({ user, responseStatus, requestReceivedTimestamp, objectRef }) =>
        user.username.endsWith(ACCOUNT) &&
        responseStatus?.code === 403 &&
        requestReceivedTimestamp > begun &&
        objectRef?.resource !== 'jobs',
    );
    expect(refused).toEqual([]);
  }, 120_000);
});
