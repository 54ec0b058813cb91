/** What the API server lets anyone with the controller's token do under the policies that are shipped beside its rights: create Jobs as its pools define them. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ToolchainPool } from '../../src/contracts/kubernetes/toolchain-pool.ts';
import { slotsBelow } from '../../src/controller/pools/apply/room.ts';
import { jobOf, templateOf } from '../../src/controller/pools/apply/template.ts';
import { TOOLCHAIN_POOLS } from '../../src/controller/pools/objects.ts';
import { connectKube, type Kube } from '../../src/kube/connection/connect.ts';
import { KubeError } from '../../src/kube/connection/error.ts';
import { JOBS, type KubeObject, PODS } from '../../src/kube/resource.ts';
import { eventually } from '../kit/api/wire.ts';
import { policiesFor } from '../kit/controller/admission.ts';
import { aPool, applyPool, installResources, type Pool } from '../kit/controller/controller.ts';
import { controllerAccount } from '../kit/controller/controller-account.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';

const HOME = 'filemill';
let cluster: Cluster;
/** As the controller. */
let asController: Kube;
/** As the controller makes them, of pools that say as little as can be, and as much. */
let own: KubeObject;
let rich: KubeObject;

const RICH = {
  toolchain: 'media',
  imagePullPolicy: 'Always',
  imagePullSecrets: [{ name: 'registry' }],
  configMapRef: { name: 'settings' },
  workDirSize: '8192Mi',
  maxSeconds: 600,
  terminationGraceSeconds: 3,
  resources: {
    requests: { cpu: 0.5, memory: '1024Mi' },
    limits: { cpu: 2, memory: '4096Mi', 'nvidia.com/gpu': 1 },
    claims: [{ name: 'card', request: 'one' }, { name: 'shared' }],
  },
  resourceClaims: [
    { name: 'card', resourceClaimTemplateName: 'card' },
    { name: 'shared', resourceClaimName: 'shared' },
  ],
  nodeSelector: {},
  tolerations: [{ key: 'filemill.io/pool', operator: 'Equal', value: 'media', effect: 'NoSchedule' }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'gpu', operator: 'In', values: ['yes'] }] }],
      },
    },
  },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { 'filemill.io/pool': 'media' } },
    },
  ],
  runtimeClassName: 'gvisor',
  priorityClassName: 'bulk',
  template: {
    metadata: { labels: { team: 'press' }, annotations: { note: 'ours' } },
    spec: {
      serviceAccountName: 'press',
      schedulerName: 'other',
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['10.0.0.10'], searches: [] },
      hostAliases: [{ ip: '10.0.0.11', hostnames: ['nats'] }],
      securityContext: { runAsUser: 2000, supplementalGroups: [], seLinuxOptions: { level: 's0:c1' } },
      volumes: [
        { name: 'fonts', configMap: { name: 'fonts' } },
        { name: 'ca', secret: { secretName: 'ca', items: [{ key: 'ca.crt', path: 'ca.crt' }], optional: false } },
        { name: 'scratch', emptyDir: { sizeLimit: '1024Mi' } },
        { name: 'claim', persistentVolumeClaim: { claimName: 'fonts', readOnly: false } },
        { name: 'driver', csi: { driver: 'csi.example.org', volumeAttributes: { a: 'b' } } },
      ],
      containers: [
        {
          name: 'worker',
          env: [
            { name: 'LOG_LEVEL', value: 'debug' },
            { name: 'EMPTY', value: '' },
            { name: 'EGRESS_TOKEN', valueFrom: { secretKeyRef: { name: 'egress', key: 'EGRESS_TOKEN' } } },
            { name: 'HTTPS_PROXY', valueFrom: { configMapKeyRef: { name: 'proxy', key: 'url', optional: true } } },
            { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
            { name: 'CPUS', valueFrom: { resourceFieldRef: { containerName: 'worker', resource: 'limits.cpu' } } },
          ],
          volumeMounts: [
            { name: 'fonts', mountPath: '/usr/share/fonts/ours', readOnly: false },
            { name: 'ca', mountPath: '/etc/ssl/ca', subPath: 'ca.crt', readOnly: true },
          ],
        },
      ],
    },
  },
};

/** Room for a slot for each Job that is tried. */
const CAPACITY = 500;
const poolOf = (name: string, spec: object, metadata: object) => aPool(name, { capacity: CAPACITY, ...spec }, metadata);

async function jobOfPool(pool: Pool, slot = 0): Promise<KubeObject> {
  const kind = { apiVersion: 'filemill.io/v1alpha1', kind: 'ToolchainPool' };
  const applied = ToolchainPool.parse({ ...kind, ...(await applyPool(cluster.kube, pool)) });
  return jobOf(applied, slot, templateOf(applied, ['nats:4222', 'nats-1:4222'])) as unknown as KubeObject;
}

async function apply(homes: readonly string[], nats?: readonly string[]): Promise<void> {
  const policies = await policiesFor({ homes, pools: ['image', 'media'], ...(nats !== undefined && { nats }) });
  const { code, stderr } = await cluster.kubectl(['apply', '--server-side', '--filename=-'], policies);
  if (code !== 0) throw new Error(stderr);
}

beforeAll(async () => {
  cluster = await startKubernetes({ without: ['controllers', 'scheduler', 'kwok'] });
  await installResources(cluster);
  for (const name of [HOME, 'team']) {
    await cluster.kubectl(['create', 'namespace', name]);
    // No controller runs here that would create the account that pods need.
    await cluster.kubectl(['create', 'serviceaccount', 'default', `--namespace=${name}`]);
  }
  asController = await connectKube({ kubeconfig: await controllerAccount(cluster, 'all-namespaces.yaml', HOME) });
  own = await jobOfPool(poolOf('image', {}, { namespace: HOME }));
  rich = await jobOfPool(poolOf('media', RICH, { namespace: HOME, labels: { 'kueue.x-k8s.io/queue-name': 'batch' } }), 12);
  await apply([HOME]);
  // What each of them alone refuses.
  for (const fields of [
    { 'metadata.ownerReferences': undefined },
    { 'metadata.labels.filemill|io/pool': 'other' },
    { [`${WORKER}.image`]: 'theirs' },
  ])
    await eventually(async () => (await refusalOfJob(own, fields)) !== undefined, 'it is in force', 30_000);
  await eventually(async () => (await refusalOfJob(rich, { [`${WORKER}.image`]: 'theirs' })) !== undefined, 'it is in force', 30_000);
}, 120_000);
afterAll(async () => {
  asController?.close();
  await cluster?.stop();
});

const stranger = (name: string, namespace = HOME) => ({ ...own, metadata: { name, namespace } });

/** A copy with these fields, by path; undefined removes one. */
function changed(job: KubeObject, fields: Readonly<Record<string, unknown>>): KubeObject {
  const copy = structuredClone(job);
  for (const [path, value] of Object.entries(fields)) {
    const names = path.split('.').map((name) => name.replaceAll('|', '.'));
    const last = names.pop() ?? '';
    let at = copy as unknown as Record<string, unknown>;
    for (const name of names) {
      at[name] ??= {};
      at = at[name] as Record<string, unknown>;
    }
    if (value === undefined) delete at[last];
    else at[last] = value;
  }
  return copy;
}

/** @returns in what words, or undefined where it is let through */
async function refusalOf(call: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    if (!(error instanceof KubeError) || (error.status !== 422 && error.status !== 403)) throw error;
    return error.message;
  }
}

const POD = 'spec.template.spec';
const WORKER = `${POD}.containers.0`;
const SLOT = 'metadata.labels.filemill|io/slot';
const inSlot = (pool: string, slot: number | string) => ({ 'metadata.name': `filemill-${pool}-${slot}`, [SLOT]: String(slot) });
let slots = 100;
/** @returns in what words the controller may not make it, in a separate slot */
const refusalOfJob = (job: KubeObject, fields: Readonly<Record<string, unknown>>) =>
  refusalOf(() =>
    asController.create(JOBS, changed(job, { ...inSlot(job.metadata.labels?.['filemill.io/pool'] ?? '', slots++), ...fields })),
  );
const settingsOf = (job: KubeObject): string =>
  (job as unknown as { spec: { template: { spec: { containers: { env: { value: string }[] }[] } } } }).spec.template.spec.containers[0]
    ?.env[1]?.value ?? '';

/** What a stolen token would try: fields of the Job, and the one that the refusal names. */
const FORGED: readonly (readonly [what: string, fields: Readonly<Record<string, unknown>>, named: string])[] = [
  ['of a pool with another uid', { 'metadata.ownerReferences.0.uid': '6f1c3b1e-0000-4000-8000-000000000000' }, 'metadata.ownerReferences'],
  ['of a pool with another name', { 'metadata.ownerReferences.0.name': 'media' }, 'metadata.ownerReferences'],
  ['of a pool that is of another group', { 'metadata.ownerReferences.0.apiVersion': 'example.org/v1' }, 'metadata.ownerReferences'],
  ['of a ConversionJob', { 'metadata.ownerReferences.0.kind': 'ConversionJob' }, 'metadata.ownerReferences'],
  ['whose owner does not control it', { 'metadata.ownerReferences.0.controller': false }, 'metadata.ownerReferences'],
  [
    'with a second owner',
    { 'metadata.ownerReferences.1': { apiVersion: 'v1', kind: 'Secret', name: 'x', uid: '0' } },
    'metadata.ownerReferences',
  ],
  // Two policies refuse these, one for the label and one for the owner: the API server tells of either.
  ['of a pool that the policy does not name', { 'metadata.labels.filemill|io/pool': 'other' }, 'metadata.'],
  ['without the label of its pool', { 'metadata.labels.filemill|io/pool': undefined }, 'metadata.'],
  ['with the label of another pool', { 'metadata.labels.filemill|io/pool': 'media' }, 'metadata.'],
  ['of any name', { 'metadata.name': 'miner' }, 'metadata.name'],
  ['of a slot that no pool of its capacity uses', inSlot('image', slotsBelow(CAPACITY)), 'metadata.name'],
  ['of a slot that is no number', inSlot('image', '1e3'), 'metadata.name'],
  ['in a queue of Kueue', { 'metadata.labels.kueue|x-k8s|io/queue-name': 'gpus' }, 'metadata.labels'],
  ['of a workload of Kueue', { 'metadata.labels.kueue|x-k8s|io/prebuilt-workload-name': 'theirs' }, 'metadata.labels'],
  ['with what Kueue asks for nodes', { 'metadata.annotations.provreq|kueue|x-k8s|io/class': 'fast' }, 'metadata.labels'],
  ['with a finalizer', { 'metadata.finalizers': ['example.org/stay'] }, 'metadata.finalizers'],
  ['of many pods', { 'spec.parallelism': 50, 'spec.completions': 50 }, 'spec:'],
  ['that is tried again', { 'spec.backoffLimit': 5 }, 'spec:'],
  [
    'that takes pods of others',
    {
      'spec.manualSelector': true,
      'spec.selector': { matchLabels: { 'filemill.io/pool': 'image' } },
    },
    'spec:',
  ],
  ['that another controller runs', { 'spec.managedBy': 'example.org/other' }, 'managedBy'],
  ['with a label for the pod', { 'spec.template.metadata.labels.azure|workload|identity/use': 'true' }, 'spec.template.metadata.labels'],
  ['of a pod of another pool', { 'spec.template.metadata.labels.filemill|io/pool': 'media' }, 'spec.template.metadata.labels'],
  ['with an annotation for the pod', { 'spec.template.metadata.annotations.vault': 'inject' }, 'spec.template.metadata.annotations'],
  ['with a finalizer for the pod', { 'spec.template.metadata.finalizers': ['example.org/stay'] }, 'spec.template.metadata:'],
  ['with a token', { [`${POD}.automountServiceAccountToken`]: true }, 'automountServiceAccountToken'],
  ['with a token by default', { [`${POD}.automountServiceAccountToken`]: undefined }, 'automountServiceAccountToken'],
  ["on its node's network", { [`${POD}.hostNetwork`]: true }, 'hostNetwork'],
  ["among its node's processes", { [`${POD}.hostPID`]: true }, 'hostPID'],
  ["with its node's IPC", { [`${POD}.hostIPC`]: true }, 'hostIPC'],
  ['with one space for processes', { [`${POD}.shareProcessNamespace`]: true }, 'shareProcessNamespace'],
  ['on a node by name', { [`${POD}.nodeName`]: 'control-plane' }, 'nodeName'],
  ['on other nodes', { [`${POD}.nodeSelector`]: { 'node-role.kubernetes.io/control-plane': '' } }, 'nodeSelector'],
  ['on any node', { [`${POD}.nodeSelector`]: undefined }, 'nodeSelector'],
  ['on tainted nodes', { [`${POD}.tolerations`]: [{ operator: 'Exists' }] }, 'tolerations'],
  [
    'beside other pods',
    {
      [`${POD}.affinity`]: {
        podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: {}, topologyKey: 'kubernetes.io/hostname' }] },
      },
    },
    'affinity',
  ],
  [
    'spread otherwise',
    { [`${POD}.topologySpreadConstraints`]: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }] },
    'topologySpreadConstraints',
  ],
  ['with a higher priority', { [`${POD}.priorityClassName`]: 'system-node-critical' }, 'priorityClassName'],
  ['in another runtime', { [`${POD}.runtimeClassName`]: 'none' }, 'runtimeClassName'],
  ['for another scheduler', { [`${POD}.schedulerName`]: 'theirs' }, 'schedulerName'],
  ['as another account', { [`${POD}.serviceAccountName`]: 'filemill-controller' }, 'serviceAccountName'],
  ['with a Secret for another registry', { [`${POD}.imagePullSecrets`]: [{ name: 'theirs' }] }, 'imagePullSecrets'],
  ['with its own host names', { [`${POD}.hostAliases`]: [{ ip: '192.0.2.1', hostnames: ['nats'] }] }, 'hostAliases'],
  ['with other servers for names', { [`${POD}.dnsConfig`]: { nameservers: ['192.0.2.1'] } }, 'dnsConfig'],
  ["with its node's names", { [`${POD}.dnsPolicy`]: 'Default' }, 'dnsPolicy'],
  ['as root', { [`${POD}.securityContext.runAsNonRoot`]: false }, `${POD}.securityContext`],
  ['as another user', { [`${POD}.securityContext.runAsUser`]: 1 }, `${POD}.securityContext`],
  ['in another group', { [`${POD}.securityContext.supplementalGroups`]: [4] }, `${POD}.securityContext`],
  ['with system calls', { [`${POD}.securityContext.seccompProfile`]: { type: 'Unconfined' } }, `${POD}.securityContext`],
  ['with sysctls', { [`${POD}.securityContext.sysctls`]: [{ name: 'kernel.shm_rmid_forced', value: '0' }] }, `${POD}.securityContext`],
  ["with its node's files", { [`${POD}.volumes.0`]: { name: 'work', hostPath: { path: '/' } } }, `${POD}.volumes`],
  ['with a Secret in a volume', { [`${POD}.volumes.1.secret.secretName`]: 'filemill-keys' }, `${POD}.volumes`],
  ['with one more volume', { [`${POD}.volumes.2`]: { name: 'x', secret: { secretName: 'filemill-keys' } } }, `${POD}.volumes`],
  ['with a claim', { [`${POD}.volumes.2`]: { name: 'x', persistentVolumeClaim: { claimName: 'theirs' } } }, `${POD}.volumes`],
  [
    'with a token in a volume',
    { [`${POD}.volumes.2`]: { name: 'x', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } } },
    `${POD}.volumes`,
  ],
  ['with its files in memory', { [`${POD}.volumes.0.emptyDir.medium`]: 'Memory' }, `${POD}.volumes`],
  ['with more room', { [`${POD}.volumes.0.emptyDir.sizeLimit`]: '1Ti' }, `${POD}.volumes`],
  ['with the first container', { [`${POD}.initContainers`]: [{ name: 'first', image: 'theirs' }] }, 'initContainers'],
  ['with a second container', { [`${POD}.containers.1`]: { name: 'second', image: 'theirs' } }, `${POD}.containers`],
  ['of another image', { [`${WORKER}.image`]: 'theirs' }, `${WORKER}.image`.replace('.0', '[0]')],
  ['with a command', { [`${WORKER}.command`]: ['sh'] }, 'command'],
  ['of another role', { [`${WORKER}.args`]: ['api'] }, 'containers[0].args'],
  ['with a program before its end', { [`${WORKER}.lifecycle`]: { preStop: { exec: { command: ['sh'] } } } }, 'lifecycle'],
  ['with a program as its probe', { [`${WORKER}.livenessProbe`]: { exec: { command: ['sh'] } } }, 'containers[0].livenessProbe'],
  ['with a probe of another host', { [`${WORKER}.livenessProbe.httpGet.host`]: '192.0.2.1' }, 'containers[0].livenessProbe'],
  ['with one more probe', { [`${WORKER}.startupProbe`]: { exec: { command: ['sh'] } } }, 'startupProbe'],
  ['with a file over its programs', { [`${WORKER}.terminationMessagePath`]: '/usr/bin/x' }, 'containers[0].terminationMessagePath'],
  ["with a port of its node's", { [`${WORKER}.ports.0.hostPort`]: 9090 }, 'containers[0].ports'],
  ['with privileges', { [`${WORKER}.securityContext`]: { privileged: true } }, 'containers[0].securityContext'],
  ['with a capability', { [`${WORKER}.securityContext.capabilities.add`]: ['NET_ADMIN'] }, 'containers[0].securityContext'],
  ['with a writable root', { [`${WORKER}.securityContext.readOnlyRootFilesystem`]: false }, 'containers[0].securityContext'],
  ['as root by its container', { [`${WORKER}.securityContext.runAsUser`]: 0 }, 'containers[0].securityContext'],
  ["with the service's keys", { [`${WORKER}.envFrom`]: [{ secretRef: { name: 'filemill-keys' } }] }, 'containers[0].envFrom'],
  ["with the service's keys too", { [`${WORKER}.envFrom.1`]: { secretRef: { name: 'filemill-keys' } } }, 'containers[0].envFrom'],
  [
    'with a key in a variable',
    { [`${WORKER}.env.3`]: { name: 'X', valueFrom: { secretKeyRef: { name: 'filemill-keys', key: 'SECRET_KEY' } } } },
    'containers[0].env',
  ],
  [
    'with a key in a variable that it has',
    { [`${WORKER}.env.0`]: { name: 'WORKER_NAME', valueFrom: { secretKeyRef: { name: 'filemill-keys', key: 'SECRET_KEY' } } } },
    'containers[0].env',
  ],
  ['with a variable', { [`${WORKER}.env.3`]: { name: 'LD_PRELOAD', value: '/work/x.so' } }, 'containers[0].env'],
  ['with a variable twice', { [`${WORKER}.env.3`]: { name: 'SETTINGS', value: '{}' } }, 'containers[0].env'],
  ['with other settings', { [`${WORKER}.env.1.value`]: '{"s3":{"endpoint":"https://example.org"}}' }, 'SETTINGS'],
  ['with a GPU', { [`${WORKER}.resources.limits`]: { 'nvidia.com/gpu': 1 } }, 'containers[0].resources'],
  ['with more of its node', { [`${WORKER}.resources.requests.cpu`]: '64' }, 'containers[0].resources'],
  ['with a claimed device', { [`${POD}.resourceClaims`]: [{ name: 'x', resourceClaimName: 'gpu' }] }, 'resourceClaims'],
  ['with a volume over its programs', { [`${WORKER}.volumeMounts.0.mountPath`]: '/usr' }, 'containers[0].volumeMounts'],
  [
    'with a volume as it is on the node',
    { [`${WORKER}.volumeMounts.0.mountPropagation`]: 'HostToContainer' },
    'containers[0].volumeMounts',
  ],
];

/** The same where the pool says much. */
const FORGED_RICH: typeof FORGED = [
  ['in no queue of Kueue', { 'metadata.labels.kueue|x-k8s|io/queue-name': 'default' }, 'metadata.labels'],
  ["without the pool's annotation", { 'spec.template.metadata.annotations.note': undefined }, 'spec.template.metadata.annotations'],
  ['with another label', { 'spec.template.metadata.labels.team': 'print' }, 'spec.template.metadata.labels'],
  ['with more GPUs', { [`${WORKER}.resources.limits.nvidia|com/gpu`]: 2 }, 'containers[0].resources'],
  ['with the claim of another', { [`${POD}.resourceClaims.1.resourceClaimName`]: 'theirs' }, 'resourceClaims'],
  ['with a whole claim', { [`${WORKER}.resources.claims.0.request`]: undefined }, 'containers[0].resources'],
  ['on nodes without affinity', { [`${POD}.affinity`]: undefined }, 'affinity'],
  ['of the account by default', { [`${POD}.serviceAccountName`]: undefined }, 'serviceAccountName'],
  ['with root', { [`${POD}.securityContext.runAsUser`]: 0, [`${POD}.securityContext.runAsNonRoot`]: false }, 'securityContext'],
  ['with another SELinux context', { [`${POD}.securityContext.seLinuxOptions`]: { type: 'spc_t' } }, 'securityContext'],
  ['with other servers for names', { [`${POD}.dnsConfig.nameservers`]: ['192.0.2.1'] }, 'dnsConfig'],
  ['with another ConfigMap', { [`${POD}.volumes.2.configMap.name`]: 'theirs' }, `${POD}.volumes`],
  ['with a Secret in place of a ConfigMap', { [`${POD}.volumes.3`]: { name: 'fonts', secret: { secretName: 'fonts' } } }, `${POD}.volumes`],
  ['with all of a Secret', { [`${POD}.volumes.4.secret.items`]: undefined }, `${POD}.volumes`],
  ['with another Secret', { [`${POD}.volumes.4.secret.secretName`]: 'filemill-keys' }, `${POD}.volumes`],
  ['with another claim', { [`${POD}.volumes.6.persistentVolumeClaim.claimName`]: 'theirs' }, `${POD}.volumes`],
  ['with another driver', { [`${POD}.volumes.7.csi.driver`]: 'theirs' }, `${POD}.volumes`],
  ['with a Secret for the driver', { [`${POD}.volumes.7.csi.nodePublishSecretRef`]: { name: 'filemill-keys' } }, `${POD}.volumes`],
  ['with a volume elsewhere', { [`${WORKER}.volumeMounts.4.mountPath`]: '/etc/ssl/theirs' }, 'containers[0].volumeMounts'],
  ['with another value', { [`${WORKER}.env.5.value`]: 'trace' }, 'containers[0].env'],
  ['with another key', { [`${WORKER}.env.7.valueFrom.secretKeyRef.name`]: 'filemill-keys' }, 'containers[0].env'],
  ['with a value in place of a key', { [`${WORKER}.env.7`]: { name: 'EGRESS_TOKEN', value: 'x' } }, 'containers[0].env'],
  ['with other settings from a file', { [`${WORKER}.env.4.value`]: '/work/filemill.yaml' }, 'containers[0].env'],
  ['with more memory', { [`${WORKER}.resources.limits.memory`]: '64Gi' }, 'containers[0].resources'],
  ['without limits', { [`${WORKER}.resources.limits`]: undefined }, 'containers[0].resources'],
  ['pulled otherwise', { [`${WORKER}.imagePullPolicy`]: 'Never' }, 'containers[0].image'],
];

/** Group, resource and subresource of what it could widen its rights by. */
const WIDENING = [
  'filemill.io/toolchainpools',
  'filemill.io/toolchainpools/scale',
  'admissionregistration.k8s.io/validatingadmissionpolicies',
  'admissionregistration.k8s.io/validatingadmissionpolicybindings',
  'admissionregistration.k8s.io/mutatingadmissionpolicies',
  'admissionregistration.k8s.io/mutatingwebhookconfigurations',
  'apiextensions.k8s.io/customresourcedefinitions',
  'rbac.authorization.k8s.io/roles',
  'rbac.authorization.k8s.io/rolebindings',
  'rbac.authorization.k8s.io/clusterroles',
  'rbac.authorization.k8s.io/clusterrolebindings',
  'batch/cronjobs',
  'batch/jobs/status',
  'apps/deployments',
  '/pods/ephemeralcontainers',
  '/pods/exec',
  '/pods/binding',
  '/namespaces',
  '/serviceaccounts',
  '/serviceaccounts/token',
  '/secrets',
  '/configmaps',
  '/persistentvolumeclaims',
];
const WRITING = ['create', 'update', 'patch', 'delete', 'deletecollection'];
const IMPERSONATED = ['/users', '/groups', '/serviceaccounts', 'rbac.authorization.k8s.io/roles', 'rbac.authorization.k8s.io/clusterroles'];

describe('the controller', () => {
  it('makes and removes Jobs of its pools, as it makes them', async () => {
    await asController.create(JOBS, rich);
    await asController.create(JOBS, own);
    await asController.remove(JOBS, own.metadata);
    await eventually(
      () =>
        asController.get(JOBS, own.metadata).then(
          () => false,
          () => true,
        ),
      'it is gone',
      10_000,
    );
  });

  it('makes them in the highest slot that a pool of its capacity uses', async () => {
    expect(await refusalOfJob(own, inSlot('image', slotsBelow(CAPACITY) - 1))).toBeUndefined();
  });

  it('makes no Job that no pool owns, and removes none', async () => {
    expect(await refusalOf(() => asController.create(JOBS, stranger('theirs')))).toContain('metadata.ownerReferences');
    await cluster.kube.create(JOBS, stranger('theirs'));
    expect(await refusalOf(() => asController.remove(JOBS, { name: 'theirs', namespace: HOME }))).toContain(
      'only Jobs that a ToolchainPool owns',
    );
    expect((await cluster.kube.get(JOBS, { name: 'theirs', namespace: HOME })).metadata.deletionTimestamp).toBeUndefined();
  });

  it('makes none where no pools are taken, so that it reads no Secret there', async () => {
    expect(await refusalOfJob(own, { 'metadata.namespace': 'team' })).toMatch(/no pools in this namespace|no params found/);
  });

  it.each(FORGED)('makes no Job %s', async (_, fields, field) => {
    expect(await refusalOfJob(own, fields)).toContain(field);
  });

  it.each(FORGED_RICH)('makes no Job %s, also for a pool with many settings', async (_, fields, field) => {
    expect(await refusalOfJob(rich, fields)).toContain(field);
  });

  it('hides no other NATS servers in settings with the same words', async () => {
    const value = settingsOf(own).replace('"servers":[', '"servers":["x"],"s3":{"endpoint":"https://example.org"},"x":[');
    expect(await refusalOfJob(own, { [`${WORKER}.env.1.value`]: value })).toContain('SETTINGS');
  });

  it("annotates its workers' pods, and changes nothing else of them nor any other pod", async () => {
    const { metadata, spec } = (own as unknown as { spec: { template: { metadata: object; spec: object } } }).spec.template;
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'filemill-image-0', uid: '0', controller: true };
    const mine = { metadata: { ...metadata, name: 'worker', namespace: HOME, ownerReferences: [owner] }, spec };
    await cluster.kube.create(PODS, mine);
    await cluster.kube.create(PODS, { metadata: { name: 'theirs', namespace: HOME }, spec });
    const patch = (name: string, change: object) => asController.patch(PODS, { name, namespace: HOME }, { metadata: change });
    const annotate = (name: string, value: string | null = 'true') =>
      patch(name, { annotations: { 'karpenter.sh/do-not-disrupt': value } });
    await annotate('worker');
    await annotate('worker', null);
    for (const call of [
      () => annotate('theirs'),
      () => patch('worker', { labels: { app: 'web' } }),
      () => patch('worker', { finalizers: ['example.org/stay'] }),
      () => patch('worker', { annotations: { note: 'x' } }),
      () => patch('worker', { annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes': null } }),
    ])
      expect(await refusalOf(call)).toContain("only annotations of its workers' pods");
    expect(await refusalOf(() => asController.create(PODS, { metadata: { name: 'bare', namespace: HOME }, spec }))).toContain('forbidden');
  });

  it('cannot widen what it may', async () => {
    const may = async (verb: string, of: string) => {
      const [group = '', resource = '', subresource = ''] = of.split('/');
      const spec = { resourceAttributes: { namespace: HOME, verb, group, resource, subresource } };
      const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec };
      const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
      const { status } = await asController.request<{ status: { allowed: boolean } }>('POST', path, review);
      return status.allowed;
    };
    expect(await may('create', 'batch/jobs')).toBe(true);
    const allowed: string[] = [];
    for (const of of WIDENING) for (const verb of WRITING) if (await may(verb, of)) allowed.push(`${verb} ${of}`);
    for (const verb of ['bind', 'escalate', 'impersonate'])
      for (const of of IMPERSONATED) if (await may(verb, of)) allowed.push(`${verb} ${of}`);
    expect(allowed).toEqual([]);
    // It may write the status of a pool, and such a write changes nothing else.
    const ref = { name: 'image', namespace: HOME };
    const change = { spec: { image: 'theirs' }, metadata: { labels: { a: 'b' } }, status: { workers: 1 } };
    await asController.patch(TOOLCHAIN_POOLS, ref, change, { subresource: 'status' });
    const after = await cluster.kube.get<Pool>(TOOLCHAIN_POOLS, ref);
    expect(after).toMatchObject({ spec: { image: 'filemill/image:test' }, status: { workers: 1 } });
    expect(after.metadata.labels).toBeUndefined();
  });

  it('is the only account that the policies restrict', async () => {
    await cluster.kube.create(JOBS, changed(own, { 'metadata.name': 'anybody', [`${POD}.automountServiceAccountToken`]: true }));
    expect((await cluster.kube.get(TOOLCHAIN_POOLS, { name: 'image', namespace: HOME })).metadata.name).toBe('image');
    for (const name of ['controller', 'workers'])
      expect(await readFile(`manifests/admission/${name}.yaml`, 'utf8')).toContain('system:serviceaccount:filemill:filemill-controller');
  });

  it('makes Jobs of pools that are there, and of their present image', async () => {
    const { kube } = cluster;
    await applyPool(kube, poolOf('image', { image: 'filemill/image:next' }, { namespace: HOME }));
    await eventually(async () => (await refusalOfJob(own, {}))?.includes('containers[0].image'), 'the earlier image is refused', 10_000);
    await kube.remove(TOOLCHAIN_POOLS, { name: 'image', namespace: HOME });
    await eventually(async () => (await refusalOfJob(own, {}))?.includes('no params found'), 'its Jobs are refused', 10_000);
    own = await jobOfPool(poolOf('image', {}, { namespace: HOME }));
    await eventually(async () => (await refusalOfJob(own, {})) === undefined, 'those of its successor are not', 10_000);
  });

  it('makes Jobs of pools of any namespace, and of no other', async () => {
    const theirs = await jobOfPool(poolOf('image', {}, { namespace: 'team' }));
    await apply(['*']);
    await eventually(async () => (await refusalOfJob(theirs, {})) === undefined, 'it is in force', 30_000);
    await cluster.kubectl(['create', 'namespace', 'elsewhere']);
    for (const namespace of ['elsewhere', 'default', 'kube-system'])
      for (const job of [own, theirs]) expect(await refusalOfJob(job, { 'metadata.namespace': namespace })).toContain('no params found');
    // Here the pool exists, but in another namespace.
    expect(await refusalOfJob(own, { 'metadata.namespace': 'team' })).toContain('metadata.ownerReferences');
    expect(await refusalOfJob(theirs, { [`${WORKER}.envFrom`]: [{ secretRef: { name: 'filemill-keys' } }] })).toContain(
      'containers[0].envFrom',
    );
  });

  it('tells workers of those NATS servers alone that the policy names', async () => {
    await apply(['*'], [JSON.stringify(['nats:4222', 'nats-1:4222'])]);
    const other = settingsOf(own).replace('"nats:4222"', '"192.0.2.1:4222"');
    await eventually(
      async () => (await refusalOfJob(own, { [`${WORKER}.env.1.value`]: other }))?.includes('SETTINGS'),
      'it is in force',
      30_000,
    );
    expect(await refusalOfJob(own, {})).toBeUndefined();
  });
});
