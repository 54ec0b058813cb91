/** How many Jobs of a pool were live at any moment at all: told from every version that the API server stored, not from samples. */
import type { Kube } from '../../../src/kube/connection/connect.ts';
import { JOBS, type KubeObject, PODS, type Resource } from '../../../src/kube/resource.ts';

const POOL = 'filemill.io/pool';
const LOST = new Set(['DeletionByTaintManager', 'DeletionByPodGC']);

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
}
interface Seen extends KubeObject {
  readonly status?: { readonly phase?: string; readonly conditions?: readonly Condition[] };
}

/** What became of a Job with one write; the number is the store's own, the same for all kinds of objects. */
interface Turn {
  readonly version: number;
  readonly job: string;
  readonly name: string;
  readonly pool: string;
  readonly is: 'made' | 'over';
}

export interface LiveCount {
  /** The most that were live at once. */
  most(pool: string): number;
  /** Names of all Jobs that there ever were. */
  names(pool: string): readonly string[];
  close(): Promise<void>;
}

/** A Job is live from when it is stored until it is finished or gone, or its pod is finished or lost. @throws when a watch is cut: use it where none is */
export async function countLiveJobs(kube: Kube, namespace: string): Promise<LiveCount> {
  const turns: Turn[] = [];
  const closing = new AbortController();

  /** @param first stands for all that was before */
  const follow = async (resource: Resource, first: number, told: (object: Seen, isGone: boolean) => Omit<Turn, 'version'> | undefined) => {
    let resourceVersion = '';
    const note = (object: Seen, isGone: boolean, version: number) => {
      const turn = told(object, isGone);
      if (turn !== undefined) turns.push({ ...turn, version });
    };
    const selection = { namespace, labelSelector: POOL };
    for await (const page of kube.pages<Seen>(resource, selection)) {
      for (const item of page.items) note(item, false, first);
      resourceVersion = page.resourceVersion;
    }
    const watching = async () => {
      while (!closing.signal.aborted)
        for await (const { type, object } of kube.watch<Seen>(resource, { ...selection, resourceVersion }, { signal: closing.signal })) {
          resourceVersion = object.metadata.resourceVersion ?? resourceVersion;
          if (type !== 'BOOKMARK') note(object, type === 'DELETED', Number(resourceVersion));
        }
    };
    // In an object, or it would be waited for.
    return {
      end: watching().catch((error: unknown) => {
        if (!closing.signal.aborted) throw error;
      }),
    };
  };
  const is = ({ status }: Seen, ...types: readonly string[]) =>
    status?.conditions?.some((condition) => types.includes(condition.type) && condition.status === 'True') ?? false;

  const following = [
    await follow(JOBS, 1, (job, isGone) => {
      const { uid = '', name, labels = {} } = job.metadata;
      return { job: uid, name, pool: labels[POOL] ?? '', is: isGone || is(job, 'Complete', 'Failed') ? 'over' : 'made' };
    }),
    await follow(PODS, 0, (pod) => {
      const { ownerReferences = [], labels = {}, deletionTimestamp } = pod.metadata;
      const { phase = '', conditions = [] } = pod.status ?? {};
      const isLost =
        deletionTimestamp !== undefined && conditions.some(({ type, reason = '' }) => type === 'DisruptionTarget' && LOST.has(reason));
      if (phase !== 'Succeeded' && phase !== 'Failed' && !isLost) return undefined;
      return { job: ownerReferences[0]?.uid ?? '', name: '', pool: labels[POOL] ?? '', is: 'over' };
    }),
  ];
  const running = Promise.all(following.map(({ end }) => end));
  running.catch(() => {});

  return {
    most(pool) {
      const [live, over] = [new Set<string>(), new Set<string>()];
      let most = 0;
      for (const turn of turns.filter((one) => one.pool === pool).toSorted((a, b) => a.version - b.version)) {
        if (turn.is === 'over') {
          over.add(turn.job);
          live.delete(turn.job);
        } else if (!over.has(turn.job)) live.add(turn.job);
        most = Math.max(most, live.size);
      }
      return most;
    },
    names: (pool) => [...new Set(turns.filter((one) => one.pool === pool && one.name !== '').map(({ name }) => name))],
    async close() {
      closing.abort();
      await running;
    },
  };
}
