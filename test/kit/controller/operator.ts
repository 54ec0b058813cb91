/** A cluster with the operator in it, under its own account: NATS, one controller for all namespaces, and stand-ins for its workers. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { TOOLCHAIN_POOLS } from '../../../src/controller/pools/objects.ts';
import type { KubeObject } from '../../../src/kube/resource.ts';
import type { Nats } from '../../../src/nats/connection.ts';
import { readPools } from '../../../src/pools/nats/declarations.ts';
import { openNatsQueue } from '../../../src/queue/nats/queue.ts';
import { eventually } from '../api/wire.ts';
import { type Cluster, type KubernetesOptions, startKubernetes } from '../kube/kubernetes.ts';
import { program } from '../kube/processes.ts';
import { type Servers, startNats } from '../nats/nats.ts';
import { checkout } from '../roles/service.ts';
import { policiesFor } from './admission.ts';
import { type Controller, installResources, isFinished, type Job, jobsOf, type Pool, startController } from './controller.ts';
import { sendOrders } from './orders.ts';
import { type Crew, type CrewOptions, startStandIns } from './stand-ins.ts';

/** Whose rights the controller has. */
const ACCOUNT = { name: 'filemill-controller', namespace: 'filemill' };

interface Manifest extends KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly [field: string]: unknown;
}

export interface Operator {
  readonly kubernetes: Cluster;
  readonly controller: Controller;
  readonly nats: Nats;
  /** Makes a namespace, and has pods there worked for. */
  team(namespace: string, labels?: Readonly<Record<string, string>>): Promise<Crew>;
  /** @returns what it prints @throws with what it complains of */
  kubectl(...args: readonly string[]): Promise<string>;
  create(...objects: readonly Manifest[]): Promise<void>;
  pool(namespace: string, name: string): Promise<Pool>;
  /** Jobs that are neither finished nor being deleted. */
  liveJobs(namespace: string, pool: string): Promise<Job[]>;
  /** Resolves when the pool is as it should be. @throws with its status */
  poolIs(namespace: string, name: string, what: string, holds: (pool: Pool) => boolean | Promise<boolean>, ms?: number): Promise<Pool>;
  /** As soon as the pool is declared. */
  send(pool: string, count: number): Promise<void>;
  /** Whether no order of it waits or is held. */
  isQuiet(pool: string): Promise<boolean>;
  /** Reasons of the Events about a pool. */
  events(namespace: string, pool: string): Promise<string[]>;
  stop(): Promise<void>;
}

type Wanted = KubernetesOptions & Partial<Pick<CrewOptions, 'comesUp' | 'livesOn' | 'serviceMs'>> & { readonly pools: readonly string[] };

export async function startOperator({
  serviceMs = () => 50,
  comesUp = () => true,
  livesOn = () => true,
  pools,
  ...wanted
}: Wanted): Promise<Operator> {
  const [kubernetes, servers]: [Cluster, Servers] = await Promise.all([startKubernetes(wanted), startNats()]);
  const { kube } = kubernetes;
  const nats = await servers.connect();
  const queue = openNatsQueue(nats);
  const crews: Crew[] = [];
  const kubectl = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await kubernetes.kubectl(args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  await installResources(kubernetes);
  await kubectl('create', 'namespace', ACCOUNT.namespace);
  await kubectl('apply', '--server-side', '--filename', `${checkout}/manifests/rbac/all-namespaces.yaml`);
  // What all these tests do the policies let through: homes are whatever namespaces a test makes.
  const policies = await policiesFor({ homes: ['*'], pools });
  const applied = await kubernetes.kubectl(['apply', '--server-side', '--filename=-'], policies);
  if (applied.code !== 0) throw new Error(applied.stderr);
  const controller = await startController({
    kubeconfig: await kubernetes.kubeconfigFor(ACCOUNT),
    natsUrl: servers.addresses.join(','),
    settings: { controller: { namespace: ACCOUNT.namespace, allNamespaces: true, poolNamespaces: ['*'] } },
  });
  const pool = (namespace: string, name: string) => kube.get<Pool>(TOOLCHAIN_POOLS, { name, namespace });
  return {
    kubernetes,
    controller,
    nats,
    kubectl,
    pool,
    async team(namespace, labels = {}) {
      await kube.request('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } });
      const crew = await startStandIns({ kube, nats, namespace, serviceMs, comesUp, livesOn });
      crews.push(crew);
      return crew;
    },
    async create(...objects) {
      const list = { apiVersion: 'v1', kind: 'List', items: objects };
      const { code, stderr } = await kubernetes.kubectl(['apply', '--server-side', '--filename=-'], JSON.stringify(list));
      if (code !== 0) throw new Error(stderr);
    },
    liveJobs: async (namespace, name) =>
      (await jobsOf(kube, name, namespace)).filter((job) => !isFinished(job) && job.metadata.deletionTimestamp === undefined),
    async poolIs(namespace, name, what, holds, ms = 30_000) {
      let last: Pool | undefined;
      const look = async () => {
        last = await pool(namespace, name);
        return (await holds(last)) && last;
      };
      return eventually(look, `${name}: ${what}`, ms).catch((cause: unknown) => {
        throw new Error(`${name} has the status ${JSON.stringify(last?.status)}`, { cause });
      });
    },
    async send(name, count) {
      await eventually(async () => (await readPools(nats)).some((declared) => declared.name === name), `${name} is declared`);
      await sendOrders(queue, name, count);
    },
    async isQuiet(name) {
      const { waiting, held } = await queue.depth(name);
      return waiting + held === 0;
    },
    async events(namespace, name) {
      const about = `--field-selector=involvedObject.kind=ToolchainPool,involvedObject.name=${name}`;
      const listed = await kubectl('get', 'events', '--namespace', namespace, about, '--output=jsonpath={.items[*].reason}');
      return listed.split(' ');
    },
    async stop() {
      await Promise.all(crews.map((crew) => crew.close()));
      await controller.stop();
      await queue.close();
      await Promise.all([kubernetes.stop(), servers.stop()]);
    },
  };
}

/** What kstatus itself, and so `helm --wait`, Flux and kpt, makes of a resource (https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus). */
export async function kstatus(resource: KubeObject): Promise<string> {
  const child = spawn(program('kstatus'), { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(resource));
  return (await text(child.stdout)).trim();
}
