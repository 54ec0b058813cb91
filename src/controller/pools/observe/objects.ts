/** Jobs and pods as far as the controller reads them: what else the API server tells of them is dropped, to keep memory flat. */
import { GROUP, VERSION } from '../../../contracts/kubernetes/resource.ts';
import type { ToolchainPool } from '../../../contracts/kubernetes/toolchain-pool.ts';
import type { Condition } from '../../../kube/conditions.ts';
import type { KubeObject, Resource } from '../../../kube/resource.ts';

/** Labels that Jobs and pods carry. */
export const LABEL = { pool: 'filemill.io/pool', slot: 'filemill.io/slot', template: 'filemill.io/template' } as const;

/** What tells autoscalers of nodes to let a pod be, and how they are told. */
export const GUARDS = { 'karpenter.sh/do-not-disrupt': 'true', 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' } as const;

export const TOOLCHAIN_POOLS: Resource = {
  group: GROUP,
  version: VERSION,
  plural: 'toolchainpools',
  kind: 'ToolchainPool',
  namespaced: true,
};

/** A ToolchainPool as the API server gives it, before it is understood. */
export interface PoolObject extends KubeObject {
  readonly spec?: unknown;
  readonly status?: unknown;
}

export interface Job extends KubeObject {
  readonly status?: {
    readonly conditions?: readonly Pick<Condition, 'type' | 'status' | 'reason' | 'message' | 'lastTransitionTime'>[];
  };
}

/** How it ended, by the Job controller's word; undefined where it has not. */
export const verdictOf = ({ status }: Job) =>
  status?.conditions?.find(({ type, status: is }) => (type === 'Complete' || type === 'Failed') && is === 'True');

/** Whether its pod was taken away by somebody who needed the place: eviction, preemption, a drain, a node that went. */
export const isDisrupted = (job: Job): boolean => {
  const verdict = verdictOf(job);
  return verdict?.type === 'Failed' && verdict.reason === 'PodFailurePolicy';
};

export const isFinished = (job: Job): boolean => verdictOf(job) !== undefined;

/** Whether it is this pool's, and not that of a namesake which was deleted, nor anybody else's. */
export const isOf = ({ metadata }: Job, { metadata: pool }: Pick<ToolchainPool, 'metadata'>): boolean =>
  metadata.ownerReferences?.some(({ uid, controller }) => controller === true && uid === pool.uid) ?? false;

export interface Pod extends KubeObject {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly Pick<Condition, 'type' | 'status' | 'reason' | 'message' | 'lastTransitionTime'>[];
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

export function trimJob(job: Job): Job {
  const { conditions } = job.status ?? {};
  return { metadata: trimMeta(job), status: conditions === undefined ? {} : { conditions } };
}

export function trimPod(pod: Pod): Pod {
  const { phase, conditions, containerStatuses } = pod.status ?? {};
  return {
    metadata: trimMeta(pod),
    spec: pod.spec?.nodeName === undefined ? {} : { nodeName: pod.spec.nodeName },
    status: {
      ...(phase !== undefined && { phase }),
      // Those that tell of trouble; the others change with every start.
      ...(conditions !== undefined && {
        conditions: conditions.filter(({ type }) => type === 'PodScheduled' || type === 'DisruptionTarget'),
      }),
      ...(containerStatuses !== undefined && {
        containerStatuses: containerStatuses.map(({ state }) => ({ ...(state !== undefined && { state }) })),
      }),
    },
  };
}
