/** The Job that a worker of a pool runs in: restricted, bounded, and the same for every slot. */
import { createHash } from 'node:crypto';
import type { ToolchainPool } from '../../../contracts/kubernetes/toolchain-pool.ts';
import { toolchainOf } from '../../../contracts/kubernetes/toolchain-pool.ts';
import { amountOf } from '../../../contracts/kubernetes/worker-pod.ts';
import { jobName, LABEL } from '../objects.ts';

/** How long a pod tolerates a lost node, s; its jobs are taken over after 30 s as well. */
const LOST_NODE_S = 30;
/** Time for a worker to shut down after its last order, s. */
const SHUTDOWN_S = 5;
/** Kubernetes deletes a Job that no controller removed after this long, s. */
const LEFT_OVER_S = 86_400;
/** An unprivileged user, which the images have. Any other works as well. */
const USER = { runAsUser: 10_001, runAsGroup: 10_001, fsGroup: 10_001 };
const WORK = '/work';
const SECRET = '/etc/filemill/nats';
const CONFIG = '/etc/filemill/config';
/** Port of /metrics, and of the kubelet's probes. */
const METRICS_PORT = 9_090;

/** The work folder holds only copies: without this a cluster autoscaler keeps every node that has such a volume. */
const EVICTABLE = { 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes': 'work' } as const;

/** Kueue labels that a pool copies to its Jobs (https://kueue.sigs.k8s.io/docs/tasks/run/jobs). */
const COPIED_LABELS = ['kueue.x-k8s.io/queue-name', 'kueue.x-k8s.io/priority-class'];

export interface Template {
  /** Hash of the pod template: equal hashes mean equal templates. */
  readonly hash: string;
  readonly pod: object;
  readonly labels: Readonly<Record<string, string>>;
}

/** @param natsServers where workers find NATS, unless their Secret or configuration says otherwise */
export function templateOf(pool: ToolchainPool, natsServers: readonly string[]): Template {
  const { spec, metadata } = pool;
  const labels = {
    [LABEL.pool]: metadata.name,
    'app.kubernetes.io/name': 'filemill',
    'app.kubernetes.io/component': 'worker',
    'app.kubernetes.io/instance': metadata.name,
    'app.kubernetes.io/part-of': 'filemill',
    'app.kubernetes.io/managed-by': 'filemill-controller',
  };
  const { metadata: added, spec: more } = spec.template ?? {};
  const podSpec = {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    ...pick(more ?? {}, ['serviceAccountName', 'schedulerName', 'dnsPolicy', 'dnsConfig', 'hostAliases']),
    enableServiceLinks: false,
    terminationGracePeriodSeconds: spec.terminationGraceSeconds,
    securityContext: { runAsNonRoot: true, ...(more?.securityContext ?? USER), seccompProfile: { type: 'RuntimeDefault' } },
    containers: [container(pool, natsServers)],
    volumes: [
      { name: 'work', emptyDir: { sizeLimit: spec.workDirSize } },
      // Optional, because a pod that waits for a volume does not report it: a missing Secret is then reported by `envFrom`, a missing
      // ConfigMap by the worker itself.
      { name: 'nats', secret: { secretName: spec.natsSecretRef.name, defaultMode: 0o440, optional: true } },
      ...(spec.configMapRef === undefined ? [] : [{ name: 'config', configMap: { name: spec.configMapRef.name, optional: true } }]),
      ...(more?.volumes ?? []),
    ],
    tolerations: [
      ...(spec.tolerations ?? []),
      ...['not-ready', 'unreachable'].map((taint) => ({
        key: `node.kubernetes.io/${taint}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: LOST_NODE_S,
      })),
    ],
    ...pick(spec, ['imagePullSecrets', 'nodeSelector', 'affinity', 'topologySpreadConstraints']),
    ...pick(spec, ['runtimeClassName', 'priorityClassName', 'resourceClaims']),
  };
  const hash = createHash('sha256').update(JSON.stringify({ podSpec, added })).digest('hex').slice(0, 10);
  return {
    hash,
    // Added labels never replace those that identify a worker.
    pod: {
      metadata: { labels: { ...added?.labels, ...labels, [LABEL.template]: hash }, annotations: { ...added?.annotations, ...EVICTABLE } },
      spec: podSpec,
    },
    labels: { ...labels, ...pick(metadata.labels ?? {}, COPIED_LABELS) },
  };
}

function container({ metadata, spec }: ToolchainPool, natsServers: readonly string[]) {
  const toolchain = toolchainOf({ metadata, spec }) ?? metadata.name;
  const settings = {
    // The only writable paths.
    dataDir: WORK,
    nats: { servers: natsServers },
    worker: {
      dir: WORK,
      pool: metadata.name,
      toolchain,
      conversionsPerWorker: spec.conversionsPerWorker,
      slots: { [toolchain]: spec.slots },
      drainMs: Math.max(1, spec.terminationGraceSeconds - SHUTDOWN_S) * 1000,
      metricsPort: METRICS_PORT,
      ...(spec.maxSeconds !== undefined && { maxSeconds: spec.maxSeconds, mediaMaxSeconds: spec.maxSeconds }),
    },
  };
  const [added] = spec.template?.spec?.containers ?? [];
  return {
    name: 'worker',
    image: spec.image,
    args: ['worker'],
    ...pick(spec, ['imagePullPolicy']),
    resources: resourcesOf(spec),
    env: [
      { name: 'WORKER_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'SETTINGS', value: JSON.stringify(settings) },
      // The kubelet inserts the limit in bytes; without a limit it would insert the node's memory.
      ...(spec.resources?.limits?.['memory'] === undefined
        ? []
        : [
            { name: 'MEMORY_LIMIT', valueFrom: { resourceFieldRef: { containerName: 'worker', resource: 'limits.memory', divisor: '1' } } },
          ]),
      // A worker that writes more is evicted with all its conversions. A variable: an older worker does not know the setting.
      { name: 'WORK_DIR_LIMIT', value: String(Math.floor(amountOf(spec.workDirSize))) },
      ...(spec.configMapRef === undefined ? [] : [{ name: 'CONFIG_FILE', value: `${CONFIG}/filemill.yaml` }]),
      ...(added?.env ?? []),
    ],
    // NATS_USER and NATS_PASSWORD, or NATS_CREDS with the path of a file that the same Secret holds.
    envFrom: [{ secretRef: { name: spec.natsSecretRef.name } }],
    ports: [{ name: 'metrics', containerPort: METRICS_PORT }],
    // A worker that cannot start says why in its last line.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    livenessProbe: {
      httpGet: { path: '/livez', port: 'metrics' },
      initialDelaySeconds: 30,
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 6,
    },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'work', mountPath: WORK },
      { name: 'nats', mountPath: SECRET, readOnly: true },
      ...(spec.configMapRef === undefined ? [] : [{ name: 'config', mountPath: CONFIG, readOnly: true }]),
      ...(added?.volumeMounts ?? []),
    ],
  };
}

const DISK = 'ephemeral-storage';

/** Requests ephemeral storage for the work folder, so that pods go to nodes that have room; the pool may set its own request. */
function resourcesOf({ resources, workDirSize }: ToolchainPool['spec']): object {
  const { requests, limits, claims } = resources ?? {};
  const isSaid = requests?.[DISK] !== undefined || limits?.[DISK] !== undefined;
  return { ...(limits && { limits }), ...(claims && { claims }), requests: { ...requests, ...(!isSaid && { [DISK]: workDirSize }) } };
}

export function jobOf(pool: ToolchainPool, slot: number, { pod, hash, labels }: Template) {
  const { name, namespace, uid = '' } = pool.metadata;
  return {
    metadata: {
      name: jobName(name, slot),
      ...(namespace !== undefined && { namespace }),
      labels: { ...labels, [LABEL.slot]: String(slot), [LABEL.template]: hash },
      ownerReferences: [{ apiVersion: pool.apiVersion, kind: pool.kind, name, uid, controller: true, blockOwnerDeletion: false }],
    },
    spec: {
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      ttlSecondsAfterFinished: LEFT_OVER_S,
      // Without this policy a deleted pod counts as failed at once, even if its worker then exits cleanly; with it, the exit code counts.
      podFailurePolicy: { rules: [{ action: 'FailJob', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }] },
      podReplacementPolicy: 'Failed',
      template: pod,
    },
  };
}

const pick = (from: object, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(from).filter(([name, value]) => names.includes(name) && value !== undefined));
