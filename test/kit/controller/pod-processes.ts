/** Pods on fake nodes that really work: for each that runs, the worker that its container would start, with that container's environment. */
import type { ChildProcess } from 'node:child_process';
import { chmod, copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kube } from '../../../src/kube/connection/connect.ts';
import { startReflector } from '../../../src/kube/reflector.ts';
import { type KubeObject, PODS } from '../../../src/kube/resource.ts';
import { checkout, spawnService } from '../roles/service.ts';
import { endPod } from './pod-end.ts';

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
}

interface Pod extends KubeObject {
  readonly spec?: {
    readonly terminationGracePeriodSeconds?: number;
    readonly containers: readonly { readonly args?: readonly string[]; readonly env?: readonly Variable[] }[];
  };
  readonly status?: { readonly phase?: string };
}

export interface PodProcesses {
  /** By pod. */
  readonly running: ReadonlyMap<string, ChildProcess>;
  /** What all of them ever said. */
  readonly lines: () => readonly string[];
  close(): Promise<void>;
}

/** As a kubelet: SIGTERM when the pod is deleted, SIGKILL after its grace, and the pod's status when the process ends. */
export async function startPodProcesses(kube: Kube, namespace: string): Promise<PodProcesses> {
  const folder = await mkdtemp(join(tmpdir(), 'filemill-pods-'));
  // Converters run as separate users, and must reach their work.
  await chmod(folder, 0o755);
  const running = new Map<string, ChildProcess>();
  const begun = new Set<string>();
  const told = new Set<string>();
  const lines: (readonly string[])[] = [];
  const ends: Promise<void>[] = [];

  const start = async (pod: Pod) => {
    const { name } = pod.metadata;
    const [container] = pod.spec?.containers ?? [];
    const environment = Object.fromEntries(
      (container?.env ?? []).map(({ name: variable, value = '', valueFrom }) => [
        variable,
        valueFrom?.fieldRef?.fieldPath === 'metadata.name' ? name : value,
      ]),
    );
    const dataDir = await mkdtemp(join(folder, 'pod-'));
    await chmod(dataDir, 0o755);
    await copyFile(join(checkout, '.cache/test-versions.json'), join(dataDir, 'versions.json')).catch(() => {});
    // The folder is the container's own; probes of many pods cannot share one machine's port.
    const own = { ...environment, WORK_DIR: dataDir, METRICS_PORT: '0' };
    const process = await spawnService(dataDir, {}, own, [join(checkout, 'scripts/filemill'), ...(container?.args ?? [])]);
    running.set(name, process.child);
    lines.push(process.lines);
    await process.ended;
    running.delete(name);
    await endPod(kube, { name, namespace }, process.child.exitCode ?? 137);
  };
  const end = (name: string, graceSeconds = 30) => {
    const child = running.get(name);
    // Told once, whatever else happens to the pod: a second signal means "now".
    if (child === undefined || told.has(name)) return;
    told.add(name);
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), graceSeconds * 1000).unref();
  };

  const pods = startReflector<Pod>({ kube, resource: PODS, namespace, labelSelector: 'filemill.io/pool' });
  pods.onChange((_, pod, before) => {
    const known = pod ?? before;
    if (known === undefined) return;
    const { name } = known.metadata;
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) end(name, known.spec?.terminationGracePeriodSeconds);
    else if (pod.status?.phase === 'Running' && !begun.has(name)) {
      begun.add(name);
      ends.push(start(pod));
    }
  });
  await pods.whenSynced();
  return {
    running,
    lines: () => lines.flat(),
    async close() {
      await pods.close();
      for (const child of running.values()) child.kill('SIGKILL');
      await Promise.allSettled(ends);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
