/** A controller's parts for Kubernetes: its connection, its Events, and leader election. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { ControllerSettings } from '../../controller/settings.ts';
import { connectKube } from '../../kube/connection/connect.ts';
import { createRecorder } from '../../kube/events.ts';
import { startLeaderElection } from '../../kube/lease.ts';
import type { Log } from '../../telemetry/log.ts';
import { CannotStart } from '../process/cannot-start.ts';

/** @throws CannotStart with neither a kubeconfig nor a pod's ServiceAccount */
export async function joinKubernetes({ kubeconfig, serviceAccount, namespace, lease }: ControllerSettings, log: Log) {
  const kube = await connectKube({ kubeconfig, serviceAccount }).catch((cause: unknown) => {
    throw new CannotStart(`the Kubernetes API cannot be reached: ${(cause as Error).message}`, { cause });
  });
  const own = namespace ?? kube.namespace;
  const identity = `${hostname()}-${randomBytes(4).toString('hex')}`;
  const onTrouble = (err: unknown) => log.warn({ err }, 'a request to the Kubernetes API failed');
  const now = () => new Date(kube.now());
  const recorder = createRecorder({ kube, controller: 'filemill.io/controller', instance: identity, now, onTrouble });
  const election = startLeaderElection({ kube, namespace: own, name: lease, identity, onTrouble });
  return { kube, own, recorder, election };
}
