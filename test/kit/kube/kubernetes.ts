/** A real Kubernetes for a test, without machines: etcd, the control plane, and kwok, on whose nodes pods run as far as the API can tell. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kube } from '../../../src/kube/connection/connect.ts';
import { startControlPlane, type Watcher } from './control-plane.ts';
import { tokenOf, writeKubeconfig } from './credentials.ts';
import { compact } from './etcd.ts';
import { addNodes, type NodeKind, setReady } from './nodes.ts';
import { BRIEF_GO, program } from './processes.ts';

export type { NodeKind } from './nodes.ts';

/** One call as the API server saw it (audit.k8s.io/v1). */
export interface AuditEvent {
  readonly stage: 'ResponseStarted' | 'ResponseComplete' | 'Panic';
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code: number };
  readonly requestReceivedTimestamp: string;
}

export interface Cluster {
  readonly server: string;
  /** Path, for an administrator. */
  readonly kubeconfig: string;
  /** A connection of an administrator, closed with the cluster. */
  readonly kube: Kube;
  /** Path, with a token of the account, which is made if it is not there; its namespace must be. */
  kubeconfigFor(account: { readonly name: string; readonly namespace: string }): Promise<string>;
  /** The same as a pod of the account finds it: variables of its environment, and the folder with its token. */
  podOf(account: { readonly name: string; readonly namespace: string }): Promise<{
    readonly environment: { readonly KUBERNETES_SERVICE_HOST: string; readonly KUBERNETES_SERVICE_PORT: string };
    readonly folder: string;
  }>;
  kubectl(args: readonly string[], stdin?: string, kubeconfig?: string): Promise<{ code: number; stdout: string; stderr: string }>;
  /** Resolves when pods can be scheduled to them. @returns their names */
  addNodes(kind: NodeKind, count: number): Promise<string[]>;
  /** `Unknown` is a node that sends no heartbeats any more. */
  setNodeReady(name: string, ready: 'True' | 'False' | 'Unknown'): Promise<void>;
  /** SIGKILL. */
  killApi(): Promise<void>;
  startApi(): Promise<void>;
  restartApi(): Promise<void>;
  /** SIGSTOP: the API server answers nothing that it must read. */
  freezeEtcd(): Promise<void>;
  /** SIGCONT */
  thawEtcd(): void;
  /** Forgets all versions but the present one. */
  compactEtcd(): Promise<void>;
  auditLog(): Promise<AuditEvent[]>;
  /** Ends all of it and removes its folder. */
  stop(): Promise<void>;
}

export interface KubernetesOptions {
  readonly nodes?: Readonly<Partial<Record<NodeKind, number>>>;
  readonly without?: readonly Watcher[];
}

/** @throws when `scripts/build-servers` has not been run, or a program ends at its start */
export async function startKubernetes({ nodes = {}, without = [] }: KubernetesOptions = {}): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'filemill-kubernetes-'));
  const plane = await startControlPlane(folder, without).catch(async (error: unknown) => {
    await rm(folder, { recursive: true, force: true });
    throw error;
  });
  const { server, port, kubeconfig, authority, kube } = plane;
  const counts = new Map<NodeKind, number>();
  const add = (kind: NodeKind, count: number): Promise<string[]> => {
    const first = counts.get(kind) ?? 0;
    counts.set(kind, first + count);
    return addNodes(kube, kind, count, first);
  };
  for (const [kind, count] of Object.entries(nodes)) await add(kind as NodeKind, count);

  return {
    server,
    kubeconfig,
    kube,
    async kubeconfigFor(account) {
      const path = join(folder, `${account.namespace}.${account.name}.kubeconfig`);
      return writeKubeconfig(path, server, authority, await tokenOf(kube, account));
    },
    async podOf(account) {
      const pod = join(folder, `${account.namespace}.${account.name}.pod`);
      await mkdir(pod, { recursive: true });
      await Promise.all([
        writeFile(join(pod, 'token'), await tokenOf(kube, account)),
        writeFile(join(pod, 'namespace'), account.namespace),
        copyFile(authority, join(pod, 'ca.crt')),
      ]);
      return { environment: { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(port) }, folder: pod };
    },
    kubectl: (args, stdin, as = kubeconfig) =>
      new Promise((resolve) => {
        const child = execFile(
          program('kubectl'),
          ['--kubeconfig', as, ...args],
          { env: { HOME: folder, PATH: '/usr/bin', ...BRIEF_GO }, maxBuffer: 64 << 20, timeout: 60_000 },
          (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
        );
        // Most commands end without having read it.
        child.stdin?.on('error', () => {}).end(stdin ?? '');
      }),
    addNodes: add,
    setNodeReady: (name, ready) => setReady(kube, name, ready),
    killApi: plane.killApi,
    startApi: plane.startApi,
    async restartApi() {
      await plane.killApi();
      await plane.startApi();
    },
    freezeEtcd: plane.freezeEtcd,
    thawEtcd: plane.thawEtcd,
    compactEtcd: () => compact(plane.etcdUrl),
    async auditLog() {
      const lines = (await readFile(plane.audit, 'utf8')).split('\n');
      // What comes after the last line break is being written.
      return lines.slice(0, -1).map((line) => JSON.parse(line) as AuditEvent);
    },
    async stop() {
      await plane.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
