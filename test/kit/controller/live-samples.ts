/** How many Jobs of each pool are live, looked at several times a second, through whatever happens to the API server. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Kube } from '../../../src/kube/connection/connect.ts';
import { JOBS, type KubeObject, PODS } from '../../../src/kube/resource.ts';
import { isFinished, type Job } from './controller.ts';

export interface LiveSamples {
  /** The most that were seen, by pool. */
  readonly seen: ReadonlyMap<string, number>;
  readonly looks: () => number;
  stop(): Promise<void>;
}

/** Pods end before their Jobs, and are looked at after them: what has ended in between is not counted. */
export function sampleLiveJobs(kube: Kube, pools: readonly string[]): LiveSamples {
  const seen = new Map<string, number>();
  let [looks, open] = [0, true];
  const poolOf = ({ metadata }: KubeObject) => metadata.labels?.['filemill.io/pool'] ?? '';
  const look = async () => {
    const [jobs, over]: [Job[], Set<string>] = [[], new Set()];
    const selection = { namespace: 'default', labelSelector: 'filemill.io/pool' };
    for await (const { items } of kube.pages<Job>(JOBS, selection, { limitMs: 1_000 })) jobs.push(...items);
    for await (const { items } of kube.pages<KubeObject & { status?: { phase?: string; conditions?: { reason?: string }[] } }>(
      PODS,
      selection,
      { limitMs: 1_000 },
    ))
      for (const { metadata, status } of items)
        if (/Succeeded|Failed/.test(status?.phase ?? '') || status?.conditions?.some(({ reason }) => reason === 'DeletionByTaintManager'))
          over.add(metadata.ownerReferences?.[0]?.uid ?? '');
    const live = jobs.filter((job) => !isFinished(job) && !over.has(job.metadata.uid ?? ''));
    for (const name of pools) seen.set(name, Math.max(seen.get(name) ?? 0, live.filter((job) => poolOf(job) === name).length));
    looks++;
  };
  const looking = (async () => {
    while (open) {
      await look().catch(() => {});
      await pause(200);
    }
  })();
  return {
    seen,
    looks: () => looks,
    async stop() {
      open = false;
      await looking;
    },
  };
}
