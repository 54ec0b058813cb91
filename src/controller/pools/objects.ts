/** The fields of Jobs and pods that the controller reads; the caches drop all others to save memory. */
import { GROUP, VERSION } from '../../contracts/kubernetes/resource.ts';
import type { ToolchainPool } from '../../contracts/kubernetes/toolchain-pool.ts';
import type { KubeCondition } from '../../kube/conditions.ts';
import type { KubeObject, Resource } from '../../kube/resource.ts';

/** Labels that Jobs and pods carry. */
export const LABEL = { pool: 'filemill.io/pool', slot: 'filemill.io/slot', template: 'filemill.io/template' } as const;

/** Annotations that keep node autoscalers from evicting a pod. */
export const GUARDS = { 'karpenter.sh/do-not-disrupt': 'true', 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' } as const;

export const TOOLCHAIN_POOLS: Resource = {
  group: GROUP,
  version: VERSION,
  plural: 'toolchainpools',
  kind: 'ToolchainPool',
  namespaced: true,
};

/** A ToolchainPool as the API server returns it, not yet validated. */
export interface PoolObject extends KubeObject {
  readonly spec?: unknown;
  readonly status?: unknown;
}

export interface KubeJob extends KubeObject {
  readonly status?: {
    readonly conditions?: readonly Pick<KubeCondition, 'type' | 'status' | 'reason' | 'message' | 'lastTransitionTime'>[];
  };
}

/** The condition with which the Job controller ended it; undefined while it runs. */
export const verdictOf = ({ status }: KubeJob) =>
  status?.conditions?.find(({ type, status: is }) => (type === 'Complete' || type === 'Failed') && is === 'True');

/** Whether its pod was disrupted from outside: eviction, preemption, a drain, a lost node. */
export const isDisrupted = (job: KubeJob): boolean => {
  const verdict = verdictOf(job);
  return verdict?.type === 'Failed' && verdict.reason === 'PodFailurePolicy';
};

export const isFinished = (job: KubeJob): boolean => verdictOf(job) !== undefined;

/** Whether this pool owns it, and not a deleted pool of the same name or something else. */
export const isOf = ({ metadata }: KubeJob, { metadata: pool }: Pick<ToolchainPool, 'metadata'>): boolean =>
  metadata.ownerReferences?.some(({ uid, controller }) => controller === true && uid === pool.uid) ?? false;

export interface Pod extends KubeObject {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly Pick<KubeCondition, 'type' | 'status' | 'reason' | 'message' | 'lastTransitionTime'>[];
    readonly containerStatuses?: readonly {
      readonly state?: {
        readonly waiting?: { readonly reason?: string; readonly message?: string };
        readonly terminated?: { readonly exitCode?: number; readonly reason?: string; readonly finishedAt?: string };
      };
    }[];
  };
}

const OURS: ReadonlySet<string> = new Set([...Object.values(LABEL), ...Object.keys(GUARDS)]);
const kept = (map: Readonly<Record<string, string>> = {}) => Object.fromEntries(Object.entries(map).filter(([key]) => OURS.has(key)));

function trimMeta({ metadata }: KubeObject): KubeObject['metadata'] {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels, annotations, ownerReferences } = metadata;
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(ownerReferences !== undefined && { ownerReferences }),
    labels: kept(labels),
    annotations: kept(annotations),
  };
}

export function trimJob(job: KubeJob): KubeJob {
  const { conditions } = job.status ?? {};
  return { metadata: trimMeta(job), status: conditions === undefined ? {} : { conditions } };
}

const SHOW_TROUBLE: ReadonlySet<string> = new Set(['PodScheduled', 'PodReadyToStartContainers', 'DisruptionTarget']);

export function trimPod(pod: Pod): Pod {
  const { phase, conditions, containerStatuses } = pod.status ?? {};
  return {
    metadata: trimMeta(pod),
    spec: pod.spec?.nodeName === undefined ? {} : { nodeName: pod.spec.nodeName },
    status: {
      ...(phase !== undefined && { phase }),
      // Only those that show trouble; the others change with every start.
      ...(conditions !== undefined && {
        conditions: conditions.filter(({ type }) => SHOW_TROUBLE.has(type)),
      }),
      ...(containerStatuses !== undefined && {
        containerStatuses: containerStatuses.map(({ state }) => ({ ...(state !== undefined && { state }) })),
      }),
    },
  };
}

/** Name of the Job in a slot: there can be one at a time. */
export const jobName = (pool: string, slot: number): string => `filemill-${pool}-${slot}`;

/** Takes the slot from the Job's name, not only from its label: two Jobs cannot share a name. */
export function slotOf({ metadata }: KubeJob): number {
  const slot = Number(metadata.labels?.[LABEL.slot] ?? -1);
  const pool = metadata.labels?.[LABEL.pool] ?? '';
  return metadata.name === jobName(pool, slot) ? slot : -1;
}
