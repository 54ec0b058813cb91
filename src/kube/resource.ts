/** The API server's resources as data: kinds of objects, and the metadata of every object. */

export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export interface ObjectRef {
  readonly name: string;
  readonly namespace?: string | undefined;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ObjectMeta extends ObjectRef {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  /** RFC 3339, by the server's clock. */
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

export const JOBS: Resource = { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true };
export const PODS: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };
export const NODES: Resource = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false };
export const LEASES: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease', namespaced: true };
export const EVENTS: Resource = { group: 'events.k8s.io', version: 'v1', plural: 'events', kind: 'Event', namespaced: true };

export const apiVersion = ({ group, version }: Resource): string => (group === '' ? version : `${group}/${version}`);

/** `namespace/name`, or only the name if the object has no namespace. */
export const objectKey = ({ metadata: { name, namespace } }: { readonly metadata: ObjectRef }): string =>
  namespace === undefined ? name : `${namespace}/${name}`;

export function refOf(key: string): ObjectRef {
  const [first = '', second] = key.split('/');
  return second === undefined ? { name: first } : { namespace: first, name: second };
}

/** The path of a kind's objects on the API server: of all, of a namespace's, or of one. */
export function pathOf(resource: Resource, { namespace, name }: Partial<ObjectRef>, subresource?: string): string {
  const parts = resource.group === '' ? ['api'] : ['apis', resource.group];
  parts.push(resource.version);
  if (resource.namespaced && namespace !== undefined) parts.push('namespaces', namespace);
  if (resource.namespaced && namespace === undefined && name !== undefined)
    throw new TypeError(`${resource.kind} ${name} is named without its namespace`);
  parts.push(resource.plural);
  if (name !== undefined) parts.push(name);
  if (subresource !== undefined) parts.push(subresource);
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

/** MicroTime needs exactly six digits of a second: with three, the API server refuses the object. */
export const microTime = (date: Date): string => date.toISOString().replace('Z', '000Z');
