/** The state of one worker, from its Job, its pod and its heartbeat. */
import { isDisrupted, type KubeJob, type Pod, verdictOf } from '../objects.ts';
import type { Trouble, WorkerState } from '../observation.ts';

/** A worker's latest heartbeat. */
export interface Heartbeat {
  readonly state: 'idle' | 'busy' | 'draining' | 'drained';
  /** Whether the next one should have arrived by now. */
  readonly overdue: boolean;
}

export interface ObservedState {
  readonly state: WorkerState;
  readonly trouble?: Trouble | undefined;
  readonly endedAt?: number | undefined;
  /** For `failed`: it was evicted, preempted or drained. */
  readonly disrupted?: boolean | undefined;
}

/** Reasons of a waiting container that do not go away by themselves (kubelet, pkg/kubelet/images and kuberuntime). */
const IMAGE_TROUBLE = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'RegistryUnavailable',
  'ImageInspectError',
]);
const CONTAINER_TROUBLE = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError']);

/** What has been found out elsewhere about a worker that does not come up. */
interface Known {
  /** Why the Job controller cannot create its pod. */
  readonly refusal: string | undefined;
  /** Set if its pod has run without a heartbeat for too long. */
  readonly silence: Trouble | undefined;
  /** Ms since the epoch. */
  readonly now: number;
}

export function workerStateOf(
  job: KubeJob,
  pod: Pod | undefined,
  heartbeat: Heartbeat | undefined,
  { refusal, silence, now }: Known,
): ObservedState {
  const ended = endOf(job, pod);
  // Finalizers may keep a deleted Job for a long time.
  if (job.metadata.deletionTimestamp !== undefined && (pod === undefined || ended !== undefined || isLost(pod))) return { state: 'over' };
  if (ended !== undefined) return ended;
  if (isLost(pod)) return { state: 'lost' };
  if (job.metadata.deletionTimestamp !== undefined || pod?.metadata.deletionTimestamp !== undefined) return { state: 'leaving' };
  if (heartbeat !== undefined) {
    if (heartbeat.state === 'draining' || heartbeat.state === 'drained') return { state: 'draining' };
    return heartbeat.overdue ? { state: 'silent', trouble: silence } : { state: heartbeat.state };
  }
  const trouble = pod === undefined ? refused(refusal) : (troubleOf(pod) ?? unprepared(pod, now) ?? silence);
  return trouble === undefined ? { state: 'starting' } : { state: 'stuck', trouble };
}

/** The pod's own end comes first: the Job's follows it by a moment. */
function endOf(job: KubeJob, pod: Pod | undefined): ObservedState | undefined {
  const verdict = verdictOf(job);
  const phase = pod?.status?.phase;
  if (verdict === undefined && phase !== 'Succeeded' && phase !== 'Failed') return undefined;
  const failed = verdict === undefined ? phase === 'Failed' : verdict.type === 'Failed';
  const finishedAt = pod?.status?.containerStatuses?.[0]?.state?.terminated?.finishedAt ?? verdict?.lastTransitionTime;
  const endedAt = finishedAt === undefined ? undefined : Date.parse(finishedAt);
  return failed ? { state: 'failed', endedAt, disrupted: isDisrupted(job) || wasDisrupted(pod) } : { state: 'succeeded', endedAt };
}

/** Evicted, preempted, or drained (KEP-3329): set before the pod ends, and so before its Job says it. */
const wasDisrupted = (pod: Pod | undefined): boolean =>
  (pod?.status?.conditions ?? []).some(({ type, status }) => type === 'DisruptionTarget' && status === 'True');

/** Its node has been unreachable for longer than the pod tolerates: the pod may still run, but can be neither seen nor stopped. */
const isLost = (pod: Pod | undefined): boolean =>
  pod?.metadata.deletionTimestamp !== undefined &&
  (pod.status?.conditions ?? []).some(
    ({ type, status, reason }) =>
      type === 'DisruptionTarget' && status === 'True' && (reason === 'DeletionByTaintManager' || reason === 'DeletionByPodGC'),
  );

function troubleOf({ status }: Pod): Trouble | undefined {
  const unscheduled = status?.conditions?.find(
    ({ type, status: is, reason }) => type === 'PodScheduled' && is === 'False' && reason === 'Unschedulable',
  );
  if (unscheduled !== undefined) return { reason: 'Unschedulable', message: `No node accepts its workers: ${unscheduled.message ?? ''}` };
  const waiting = status?.containerStatuses?.find(({ state }) => state?.waiting !== undefined)?.state?.waiting;
  const { reason = '', message = reason } = waiting ?? {};
  if (IMAGE_TROUBLE.has(reason)) return { reason: 'ImagePullFailed', message: `The image cannot be pulled: ${message}` };
  if (!CONTAINER_TROUBLE.has(reason)) return undefined;
  if (/secret/i.test(message)) return { reason: 'CredentialsMissing', message: `The Secret with the credentials is invalid: ${message}` };
  return { reason: 'ContainerFailed', message: `The container cannot be created: ${message}` };
}

/** How long a node may take to attach and mount volumes and to set up the network, ms: cloud disks take minutes. */
const PREPARES_MS = 300_000;

/**
 * A pod may wait for its volumes and its network without end, and the kubelet says why only in Events. The condition (KEP-3085) is true while the
 * image is pulled, which may take long.
 */
function unprepared({ metadata: { name }, status }: Pod, now: number): Trouble | undefined {
  const last = (type: string) => status?.conditions?.find((condition) => condition.type === type);
  const [scheduled, prepared] = [last('PodScheduled'), last('PodReadyToStartContainers')];
  if (status?.phase !== 'Pending' || scheduled?.status !== 'True' || prepared?.status !== 'False') return undefined;
  // The node's clock may be wrong: the wait began no earlier than the scheduler chose the node.
  const waitsMs = now - Math.max(Date.parse(scheduled.lastTransitionTime), Date.parse(prepared.lastTransitionTime));
  if (!(waitsMs >= PREPARES_MS)) return undefined;
  const why = 'a Secret or a volume that it names is missing, a volume cannot be mounted, or its network cannot be set up';
  const message = `Its node has not prepared the pod ${name} in ${Math.round(waitsMs / 60_000)} min: ${why}. See kubectl describe pod ${name}`;
  return { reason: 'ContainerFailed', message };
}

const refused = (refusal: string | undefined): Trouble | undefined =>
  refusal === undefined ? undefined : { reason: 'PodRefused', message: `Kubernetes refuses its pods: ${refusal}` };
