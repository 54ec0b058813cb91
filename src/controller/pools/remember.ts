/** Has the memory record what is seen of a pool, before it is observed: which workers are new, were heard, are silent, have ended or are gone. */
import type { PoolMemory } from './memory.ts';
import { isOf, type KubeJob, LABEL, type Pod } from './objects.ts';
import { hasNodeTrouble, type Trouble } from './observation.ts';
import { presenceOf, stateOf } from './observe/observe.ts';
import { podsWithoutJobs } from './observe/orphans.ts';
import type { PoolObjects } from './observe/seen.ts';

export function remember(objects: PoolObjects, memory: PoolMemory): void {
  const { pool, jobs, now } = objects;
  const ours = jobs.filter((job) => isOf(job, pool));
  memory.forgetGone(new Set(ours.flatMap(({ metadata }) => metadata.uid ?? [])), now);
  memory.sawOrphans(new Set(podsWithoutJobs(objects).map(({ metadata }) => metadata.uid ?? '')), now);
  for (const job of ours) rememberWorker(objects, memory, job);
}

function rememberWorker(objects: PoolObjects, memory: PoolMemory, job: KubeJob): void {
  const { podOf, listening, demand, template, now } = objects;
  const { uid = '', labels = {} } = job.metadata;
  const pod = podOf(job);
  const presence = presenceOf(objects, job);
  const createdAt = Date.parse(job.metadata.creationTimestamp ?? '');
  const made = { createdAt, template: labels[LABEL.template] ?? '' };
  // While NATS is unreachable, missing heartbeats prove nothing.
  const isSilent = presence === undefined && listening && demand !== undefined && pod?.status?.phase === 'Running';
  memory.sawWorker(uid, now, { listening, isSilent });
  if (presence !== undefined) memory.heardWorker(uid, now, { ...presence, ...made });
  const state = stateOf(objects, memory, job);
  memory.sawStuck(uid, now, hasNodeTrouble(state));
  if (state.state === 'failed' && state.disrupted !== true) {
    // The node's clock may be wrong, so clamp: a worker ends after it was created and before now.
    const endedAt = Math.min(now, Math.max(state.endedAt ?? now, createdAt || 0));
    const sentHeartbeat = memory.worker(uid)?.sentHeartbeat === true;
    const describe = (inARow: number) => failureOf(job, pod, sentHeartbeat, inARow);
    memory.workerFailed(uid, now, { ...made, endedAt, describe }, template);
  }
}

/** A worker that ends before its first heartbeat cannot have been crashed by a file; several in a row that end soon after it probably were not either. */
function failureOf(job: KubeJob, pod: Pod | undefined, sentHeartbeat: boolean, inARow: number): Trouble {
  const { exitCode, reason = 'no reason given' } = pod?.status?.containerStatuses?.[0]?.state?.terminated ?? {};
  const how = exitCode === undefined ? reason : `exit code ${exitCode}, ${reason}`;
  const who = inARow === 1 ? 'A worker' : `${inARow} workers in a row`;
  const when = sentHeartbeat ? 'soon after its first heartbeat without finishing a conversion' : 'before the first heartbeat';
  const message = `${who} ended ${when}; the last one: ${how}. Its Job is kept: see kubectl logs job/${job.metadata.name}`;
  return { reason: 'WorkersFail', message };
}
