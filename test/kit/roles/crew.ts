/** Who works in a cluster: replicas and workers that can be killed, and come back as they were. */
import { once } from 'node:events';
import { eventually } from '../api/wire.ts';
import type { Cluster, Role } from './cluster.ts';
import type { Settings } from './service.ts';

type Environment = Readonly<Record<string, string>>;

export interface Crew {
  /** As they are now. */
  readonly replicas: readonly Role[];
  readonly workers: readonly Role[];
  /** With -9, and starts the next on the same port. */
  replaceReplica(index: number): Promise<void>;
  /** With -9, and starts the next of the same pool. */
  replaceWorker(index: number): Promise<void>;
}

interface Wanted {
  readonly replicas: readonly Environment[];
  /** Each with its POOL. */
  readonly workers: readonly Environment[];
  /** Settings of the replicas. */
  readonly settings?: Settings;
}

/** Resolves when every replica knows of a worker for every pool. */
export async function startCrew(cluster: Cluster, wanted: Wanted): Promise<Crew> {
  const replicaAt = (index: number, port = '0') => cluster.start('api', { PORT: port, ...wanted.replicas[index] }, wanted.settings);
  const workerAt = (index: number) => cluster.start('worker', wanted.workers[index]);
  // The first makes what the others need.
  const replicas = [await replicaAt(0), ...(await Promise.all(wanted.replicas.slice(1).map((_, index) => replicaAt(index + 1))))];
  const workers = await Promise.all(wanted.workers.map((_, index) => workerAt(index)));
  for (const { POOL: pool = '' } of wanted.workers)
    for (const { url } of replicas)
      await eventually(async () => (await poolOf(url, pool)).workers > 0, `${url} knows a worker for ${pool}`, 30_000);
  return {
    replicas,
    workers,
    async replaceReplica(index) {
      const port = new URL(replicas[index]?.url ?? '').port;
      await kill(replicas[index]);
      replicas[index] = await replicaAt(index, port);
    },
    async replaceWorker(index) {
      await kill(workers[index]);
      workers[index] = await workerAt(index);
    },
  };
}

export async function kill(role: Role | undefined): Promise<void> {
  if (role === undefined || role.child.exitCode !== null || role.child.signalCode !== null) return;
  const ended = once(role.child, 'exit');
  role.child.kill('SIGKILL');
  await ended;
}

interface Pool {
  readonly workers: number;
  readonly waiting: number;
  readonly running: number;
}

/** What a replica's health says of a pool. */
export async function poolOf(url: string | undefined, pool: string): Promise<Pool> {
  const { data } = (await (await fetch(`${url}/api/v1/health`)).json()) as { data: { queue: Record<string, Pool> } };
  return data.queue[pool] ?? { workers: 0, waiting: 0, running: 0 };
}
