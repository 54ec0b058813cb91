/** Controllers as separate processes, and what a test needs to try them: resources, pools, Jobs. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { TOOLCHAIN_POOLS } from '../../../src/controller/pools/objects.ts';
import type { Kube } from '../../../src/kube/connection/connect.ts';
import { unlessNotFound } from '../../../src/kube/connection/error.ts';
import { JOBS, type KubeObject } from '../../../src/kube/resource.ts';
import type { Cluster } from '../kube/kubernetes.ts';
import { checkout, endProcess, type Settings, type Starting, spawnService } from '../roles/service.ts';

export interface Pool extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: {
    readonly workers?: number;
    readonly idle?: number;
    readonly busy?: number;
    readonly queued?: number;
    readonly running?: number;
    readonly desired?: number;
    readonly selector?: string;
    readonly observedGeneration?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }[];
  };
}

export interface Job extends KubeObject {
  readonly spec: { readonly template: { readonly spec: Readonly<Record<string, unknown>> } };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export interface Controller extends Starting {
  /** Where its probes and metrics are. */
  readonly url: string;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** The resources are known when this resolves. */
export async function installResources({ kubectl }: Cluster): Promise<void> {
  for (const args of [
    ['apply', '-f', join(checkout, 'manifests/crds')],
    ['wait', '--for=condition=Established', '--timeout=30s', 'crd/toolchainpools.filemill.io', 'crd/conversionjobs.filemill.io'],
  ]) {
    const { code, stderr } = await kubectl(args);
    if (code !== 0) throw new Error(stderr);
  }
}

interface Wanted {
  readonly kubeconfig: string;
  readonly natsUrl: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly settings?: Settings;
}

/** Resolves when its probes answer. @throws with its words when it ends before */
export async function startController({ kubeconfig, natsUrl, environment = {}, settings = {} }: Wanted): Promise<Controller> {
  const dataDir = await mkdtemp(join(tmpdir(), 'filemill-controller-'));
  const own = { NATS_URL: natsUrl, KUBECONFIG: kubeconfig, ...environment };
  const { controller = {}, ...rest } = settings as Readonly<Record<string, object>>;
  const all = { ...rest, controller: { probesPort: 0, namespace: 'default', ...controller } } as unknown as Settings;
  const starting = await spawnService(dataDir, all, own, [join(checkout, 'scripts/filemill'), 'controller']);
  const url = await starting.serving;
  if (url === undefined) throw new Error(`the controller ended: ${starting.lines.join('\n')}`);
  return {
    ...starting,
    url,
    async stop(signal) {
      await endProcess({ ...starting, url }, signal);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A pool of stand-ins that need no image. */
export const aPool = (name: string, spec: Readonly<Record<string, unknown>> = {}, metadata: object = {}): Pool => ({
  metadata: { name, namespace: 'default', ...metadata },
  spec: {
    toolchain: 'image',
    image: 'filemill/image:test',
    capacity: 5,
    idleSeconds: 3,
    natsSecretRef: { name: 'nats' },
    nodeSelector: { 'filemill.io/pool': 'image' },
    ...spec,
  },
});

/** Server-side, as a user applies it. */
export const applyPool = (kube: Kube, pool: Pool): Promise<Pool> => kube.apply<Pool>(TOOLCHAIN_POOLS, pool, { manager: 'test' });

export const poolNamed = (kube: Kube, name: string): Promise<Pool> => kube.get<Pool>(TOOLCHAIN_POOLS, { name, namespace: 'default' });

export async function jobsOf(kube: Kube, pool: string, namespace = 'default'): Promise<Job[]> {
  const all: Job[] = [];
  for await (const { items } of kube.pages<Job>(JOBS, { namespace, labelSelector: `filemill.io/pool=${pool}` })) all.push(...items);
  return all;
}

export const isFinished = ({ status }: Job): boolean =>
  status?.conditions?.some(({ type, status: is }) => (type === 'Complete' || type === 'Failed') && is === 'True') ?? false;

export const condition = ({ status }: Pool, type: string) => status?.conditions?.find((one) => one.type === type);

/** Takes a pool away; what it has follows. */
export async function removePool(kube: Kube, name: string): Promise<void> {
  await kube.remove(TOOLCHAIN_POOLS, { name, namespace: 'default' }).catch(unlessNotFound);
}

/** Every document of a YAML file. */
export const documents = async (path: string): Promise<KubeObject[]> =>
  parseAllDocuments(await readFile(join(checkout, path), 'utf8')).map((document) => document.toJS() as KubeObject);
