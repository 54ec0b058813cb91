/** Controllers as a Deployment keeps them: so many at a time, and one that ends is started again. */
import { type KubeObject, LEASES } from '../../../src/kube/resource.ts';
import { eventually } from '../api/wire.ts';
import type { Cluster } from '../kube/kubernetes.ts';
import { type Controller, startController } from './controller.ts';

interface Lease extends KubeObject {
  readonly spec: { readonly holderIdentity?: string };
}

export interface Replicas {
  /** Those that run now. */
  readonly running: () => readonly Controller[];
  /** The replica that holds the lease; waits until one does. */
  leader(): Promise<Controller>;
  /** Ms from now until another than the one that holds the lease now does. @param cause ends the leader */
  takeover(cause: (leader: Controller) => void): Promise<number>;
  /** Everything that any of them ever said. */
  readonly lines: () => readonly string[];
  stop(): Promise<void>;
}

export async function startReplicas(count: number, { kube }: Cluster, wanted: Parameters<typeof startController>[0]): Promise<Replicas> {
  const ever: Controller[] = [];
  const running = new Set<Controller>();
  const keeping: Promise<void>[] = [];
  let stopping = false;

  const keep = async (first: Controller) => {
    for (let controller = first; ; controller = await startController(wanted)) {
      ever.push(controller);
      running.add(controller);
      await controller.ended;
      running.delete(controller);
      await controller.stop();
      if (stopping) return;
    }
  };
  for (const controller of await Promise.all(Array.from({ length: count }, () => startController(wanted)))) keeping.push(keep(controller));

  const holder = async (): Promise<string | undefined> => {
    const lease = await kube
      .get<Lease>(LEASES, { name: 'filemill-controller', namespace: 'default' }, { limitMs: 1_000 })
      .catch(() => undefined);
    return lease?.spec.holderIdentity || undefined;
  };
  const leads = async ({ url }: Controller) => {
    const metrics = await fetch(`${url}/metrics`).then(
      (answer) => answer.text(),
      () => '',
    );
    return /^leader_election_master_status\{.*\} 1$/m.test(metrics);
  };
  const leader = () =>
    eventually(
      async () => {
        for (const controller of running) if ((await leads(controller)) && (await holder()) !== undefined) return controller;
        return undefined;
      },
      'one leads',
      40_000,
    );
  return {
    running: () => [...running],
    leader,
    async takeover(cause) {
      const now = await leader();
      const before = await holder();
      const begun = performance.now();
      cause(now);
      await eventually(
        async () => {
          const next = await holder();
          return next !== undefined && next !== before;
        },
        'another leads',
        40_000,
      );
      const took = performance.now() - begun;
      // It may hand over well before its end, and is among those that run until then.
      await now.ended;
      return took;
    },
    lines: () => ever.flatMap(({ lines }) => lines),
    async stop() {
      stopping = true;
      await Promise.all([...running].map((controller) => controller.stop()));
      await Promise.all(keeping);
    },
  };
}
