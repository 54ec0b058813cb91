/** Writes the pool's status, counts and conditions: conditions at once when they change, counts alone at most every COUNTS_MS. */
import { isDeepStrictEqual } from 'node:util';
import type { ToolchainPool, ToolchainPoolStatus } from '../../../contracts/kubernetes/toolchain-pool.ts';
import { type KubeCondition, setCondition } from '../../../kube/conditions.ts';
import type { Kube } from '../../../kube/connection/connect.ts';
import { unlessNotFound } from '../../../kube/connection/error.ts';
import { type Recorder, regarding } from '../../../kube/events.ts';
import type { PoolMemory } from '../memory.ts';
import { LABEL, TOOLCHAIN_POOLS } from '../objects.ts';
import { type Decision, isLive, type Observation, type ObservedWorker, type Trouble } from '../observation.ts';
import { conditionsOf } from './conditions.ts';

const MANAGER = 'filemill-controller';
/** Under load counts change all the time, and each write reaches everyone who watches pools, ms. */
const COUNTS_MS = 5_000;

export function poolStatus(
  { metadata, status }: Pick<ToolchainPool, 'metadata' | 'status'>,
  observed: Observation,
  decision: Decision,
  now: number,
  trouble: Trouble | undefined,
): ToolchainPoolStatus {
  const { workers, demand } = observed;
  const observedGeneration = metadata.generation ?? 0;
  const reportedTemplate = observed.reportedTemplate ?? status?.reportedTemplate;
  const said = conditionsOf(observed, decision, trouble);
  let conditions: readonly KubeCondition[] = ((status?.conditions ?? []) as readonly KubeCondition[]).filter(({ type }) =>
    said.some((one) => one.type === type),
  );
  for (const next of said) conditions = setCondition(conditions, { ...next, observedGeneration }, new Date(now));
  return {
    observedGeneration,
    ...countsOf(workers),
    selector: `${LABEL.pool}=${metadata.name}`,
    ...(reportedTemplate !== undefined && { reportedTemplate }),
    conditions: [...conditions],
    ...(decision.desired !== undefined && { desired: decision.desired }),
    ...(demand !== undefined && {
      queued: demand.pending,
      running: demand.inFlight,
      oldestQueuedSeconds: Math.round((demand.oldestMs ?? 0) / 1000),
    }),
  };
}

interface WriteDeps {
  readonly kube: Kube;
  readonly recorder: Recorder;
  readonly mayAct: () => boolean;
  readonly clock: () => number;
}

/** @throws KubeError */
export async function writeStatus(
  { kube, recorder, mayAct, clock }: WriteDeps,
  pool: ToolchainPool,
  memory: PoolMemory,
  next: ToolchainPoolStatus,
): Promise<void> {
  const { name, namespace } = pool.metadata;
  const before = pool.status ?? {};
  const changed = !isDeepStrictEqual(verdicts(before), verdicts(next));
  const due = changed || clock() - memory.status().at >= COUNTS_MS;
  const text = JSON.stringify(next);
  if (!due || text === memory.status().text || !mayAct()) return;
  await kube
    .apply(TOOLCHAIN_POOLS, { metadata: { name, namespace }, status: next }, { manager: MANAGER, subresource: 'status' })
    .catch(unlessNotFound);
  memory.wroteStatus(text, clock());
  if (!changed) return;
  const about = regarding(TOOLCHAIN_POOLS, pool.metadata);
  for (const { type, status, reason, message } of next.conditions ?? []) {
    const was = before.conditions?.find((condition) => condition.type === type);
    if (was?.status === status && was.reason === reason) continue;
    // Scaling shows in the counts; Events are for trouble and its end.
    if (type === 'Degraded' && (status === 'True' || was?.status === 'True'))
      recorder.record({
        regarding: about,
        type: status === 'True' ? 'Warning' : 'Normal',
        reason: status === 'True' ? reason : 'Recovered',
        action: 'Scale',
        note: message,
      });
    if (type === 'Ready' && status === 'True' && was?.status !== 'True')
      recorder.record({ regarding: about, type: 'Normal', reason: 'Ready', action: 'Scale', note: message });
  }
}

/** What must be written at once: not the counts, nor the messages that repeat them. */
const verdicts = ({ observedGeneration, reportedTemplate, conditions = [] }: ToolchainPoolStatus) => [
  observedGeneration,
  reportedTemplate,
  conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`).toSorted(),
];

/** A draining worker still runs its last orders, so it counts as busy. */
export const countsOf = (workers: readonly ObservedWorker[]) => ({
  // A Job without a pod is not a worker.
  workers: workers.filter((worker) => isLive(worker) && worker.pod !== undefined).length,
  idle: workers.filter(({ state }) => state === 'idle').length,
  busy: workers.filter(({ state }) => state === 'busy' || state === 'draining').length,
});
