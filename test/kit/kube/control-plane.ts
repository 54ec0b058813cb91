/** The programs that make a Kubernetes: etcd and the API server first, then those that watch it. */
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectKube, type Kube } from '../../../src/kube/connection/connect.ts';
import { freePorts } from '../exec/ports.ts';
import { makeCredentials, writeKubeconfig } from './credentials.ts';
import { FAKE } from './nodes.ts';
import { freeze, isRunning, kill, startProgram } from './processes.ts';
import { until } from './until.ts';

/** What a test may need no part of: it starts in less time. Without controllers no Job gets a pod, and no namespace a service account. */
export type Watcher = 'controllers' | 'scheduler' | 'kwok';

export interface ControlPlane {
  readonly server: string;
  readonly port: number;
  readonly etcdUrl: string;
  /** Paths: of an administrator, of the API server's own certificate, of its audit log. */
  readonly kubeconfig: string;
  readonly authority: string;
  readonly audit: string;
  /** The client of an administrator. */
  readonly kube: Kube;
  startApi(): Promise<void>;
  killApi(): Promise<void>;
  freezeEtcd(): Promise<void>;
  thawEtcd(): void;
  stop(): Promise<void>;
}

const AUDIT = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules: [{ level: 'Metadata' }] };
/** Controllers that share two cores with their API server need not hold themselves back. */
const EAGER = { 'kube-api-qps': 1000, 'kube-api-burst': 2000, 'leader-elect': false, 'secure-port': 0 };

/** @param folder for all that they write @throws when one ends at its start; none of them is left then */
export async function startControlPlane(folder: string, without: readonly Watcher[]): Promise<ControlPlane> {
  const at = (name: string) => join(folder, name);
  const [store = 0, peers = 0, port = 0] = await freePorts(3);
  const [etcdUrl, peerUrl, server] = [`http://127.0.0.1:${store}`, `http://127.0.0.1:${peers}`, `https://127.0.0.1:${port}`];
  const [kubeconfig, authority, audit] = [at('admin.kubeconfig'), at('certificates/apiserver.crt'), at('audit.log')];
  const credentials = await makeCredentials(folder);
  await writeFile(at('audit.json'), JSON.stringify(AUDIT));
  const children = new Map<string, ChildProcess>();
  const start = async (name: string, options: Readonly<Record<string, string | number | boolean>>): Promise<ChildProcess> => {
    const child = await startProgram(name, options, at(`${name}.log`));
    children.set(name, child);
    return child;
  };
  let kube: Kube | undefined;
  const stop = async () => {
    kube?.close();
    await Promise.all([...children.values()].map(kill));
  };

  const startEtcd = () =>
    start('etcd', {
      'data-dir': at('etcd'),
      'listen-client-urls': etcdUrl,
      'advertise-client-urls': etcdUrl,
      'listen-peer-urls': peerUrl,
      'initial-advertise-peer-urls': peerUrl,
      'initial-cluster': `default=${peerUrl}`,
      'log-level': 'error',
      'unsafe-no-fsync': true,
    });

  /** Resolves when it is ready. */
  async function startApi(): Promise<Kube> {
    await start('kube-apiserver', {
      'etcd-servers': etcdUrl,
      'bind-address': '127.0.0.1',
      'secure-port': port,
      'cert-dir': at('certificates'),
      'service-cluster-ip-range': '10.0.0.0/24',
      'authorization-mode': 'Node,RBAC',
      'allow-privileged': true,
      'audit-policy-file': at('audit.json'),
      'audit-log-path': audit,
      'audit-log-maxsize': 1000,
      'endpoint-reconciler-type': 'none',
      profiling: false,
      ...credentials.options,
    });
    const isUp = async () => {
      for (const name of ['etcd', 'kube-apiserver'])
        if (!isRunning(children.get(name))) throw new Error(`${name} ended: ${(await readFile(at(`${name}.log`), 'utf8')).slice(-2_000)}`);
      // It writes its key after its certificate: the one is whole when the other is there, and a kubeconfig made of half of it is of no use.
      return existsSync(at('certificates/apiserver.key'));
    };
    await until('the certificate of the API server', isUp);
    kube ??= await connectKube({ kubeconfig: await writeKubeconfig(kubeconfig, server, authority, credentials.token) });
    const admin = kube;
    await until('the API server', async () => (await isUp()) && answers(admin, '/readyz')).catch(async (error: Error) => {
      throw new Error(`${error.message}: ${(await readFile(at('kube-apiserver.log'), 'utf8')).slice(-2_000)}`, { cause: error });
    });
    return admin;
  }

  const watchers: Readonly<Record<Watcher, () => Promise<ChildProcess>>> = {
    controllers: () =>
      start('kube-controller-manager', {
        ...EAGER,
        kubeconfig,
        'service-account-private-key-file': credentials.signingKey,
        'root-ca-file': authority,
        'concurrent-job-syncs': 20,
        'horizontal-pod-autoscaler-sync-period': '1s',
        // No kubelet sends heartbeats: a node is lost when a test says so.
        'node-monitor-grace-period': '24h',
      }),
    scheduler: () => start('kube-scheduler', { ...EAGER, kubeconfig }),
    kwok: () =>
      start('kwok', {
        kubeconfig,
        config: join(import.meta.dirname, 'stages.yaml'),
        'manage-nodes-with-label-selector': `${FAKE}=true`,
        'node-lease-duration-seconds': 0,
      }),
  };

  try {
    const etcd = await startEtcd();
    const admin = await startApi();
    await Promise.all(Object.entries(watchers).map(([name, begin]) => (without.includes(name as Watcher) ? undefined : begin())));
    if (!without.includes('controllers'))
      await until('the default service account', () => answers(admin, '/api/v1/namespaces/default/serviceaccounts/default'));
    return {
      ...{ server, port, etcdUrl, kubeconfig, authority, audit, kube: admin, stop },
      async startApi() {
        await startApi();
      },
      killApi: () => kill(children.get('kube-apiserver')),
      freezeEtcd: () => freeze(etcd),
      thawEtcd: () => void etcd.kill('SIGCONT'),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const answers = (kube: Kube, path: string): Promise<boolean> =>
  kube.request('GET', path).then(
    () => true,
    () => false,
  );
