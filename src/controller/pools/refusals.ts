/** Why Kubernetes makes no pod of a Job: quota, LimitRange and admission speak only through Events. */
import type { Kube } from '../../kube/connect.ts';
import type { KubeObject } from '../../kube/resource.ts';

interface Event extends KubeObject {
  readonly reason?: string;
  readonly message?: string;
}

/** The events of the core group can be selected by what they are about; those of events.k8s.io cannot. */
const CORE_EVENTS = { group: '', version: 'v1', plural: 'events', kind: 'Event', namespaced: true } as const;

/** @returns undefined where no Event tells */
export async function refusalOf(kube: Kube, namespace: string | undefined, jobUid: string): Promise<string | undefined> {
  const fieldSelector = `involvedObject.uid=${jobUid},reason=FailedCreate`;
  for await (const { items } of kube.pages<Event>(CORE_EVENTS, { namespace, fieldSelector, limit: 50 })) return items.at(-1)?.message;
  return undefined;
}
