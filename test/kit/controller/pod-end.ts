/** The end of a pod on a fake node, as a kubelet writes it down. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Kube } from '../../../src/kube/connection/connect.ts';
import { unlessNotFound } from '../../../src/kube/connection/error.ts';
import { type ObjectRef, PODS } from '../../../src/kube/resource.ts';

/** While the API server is away; a kubelet tries for ever. */
const TRIES = 50;
const PAUSE_MS = 200;

/** A pod that is gone needs no end. @param signal ends the trying */
export async function endPod(kube: Kube, ref: ObjectRef, exitCode: number, signal?: AbortSignal): Promise<void> {
  const now = new Date().toISOString();
  const state = { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt: now, finishedAt: now } };
  const phase = exitCode === 0 ? 'Succeeded' : 'Failed';
  const status = { phase, containerStatuses: [{ name: 'worker', image: 'x', imageID: '', ready: false, restartCount: 0, state }] };
  for (let tries = 0; tries < TRIES && signal?.aborted !== true; tries++) {
    try {
      await kube.patch(PODS, ref, { status }, { subresource: 'status' }).catch(unlessNotFound);
      return;
    } catch {
      await pause(PAUSE_MS);
    }
  }
}
