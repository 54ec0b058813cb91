/** Shared by both controllers: cache a kind of resource, and time each reconciliation. */
import type { Kube } from '../kube/connection/connect.ts';
import { type Reflector, type ReflectorOptions, startReflector } from '../kube/reflector.ts';
import type { KubeObject } from '../kube/resource.ts';
import type { ControllerMetrics } from '../telemetry/controller.ts';
import type { Log } from '../telemetry/log.ts';

interface Watching {
  readonly kube: Kube;
  /** Undefined: all of them. */
  readonly namespace: string | undefined;
  readonly metrics: Pick<ControllerMetrics, 'watching'>;
  readonly log: Log;
}

/** A cache of one kind of resource that logs its failures and exposes metrics. */
export function mirror<T extends KubeObject>(
  { kube, namespace, metrics, log }: Watching,
  what: Pick<ReflectorOptions<T>, 'resource' | 'trim' | 'labelSelector'>,
): Reflector<T> {
  const { plural } = what.resource;
  const onTrouble = (err: unknown) => log.warn({ resource: plural, err }, 'a watch was interrupted and is resumed');
  const reflector = startReflector<T>({ kube, namespace, onTrouble, ...what });
  metrics.watching(plural, reflector.stats);
  return reflector;
}

/** @param controller the label `controller` in metrics */
export async function timed<T>(
  { reconciled }: Pick<ControllerMetrics, 'reconciled'>,
  controller: string,
  reconcile: () => Promise<T>,
): Promise<T> {
  const begun = performance.now();
  let result: 'success' | 'error' = 'error';
  try {
    const outcome = await reconcile();
    result = 'success';
    return outcome;
  } finally {
    reconciled(controller, result, (performance.now() - begun) / 1000);
  }
}
