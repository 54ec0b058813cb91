/** Conditions of a resource's status: `lastTransitionTime` changes only when the status does. Pure. */

/** As `metav1.Condition`. */
export interface KubeCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
  /** RFC 3339, whole seconds. */
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

/** @returns the same array if nothing changed, so that callers can tell whether there is anything to write */
export function setCondition(
  conditions: readonly KubeCondition[],
  next: Omit<KubeCondition, 'lastTransitionTime'>,
  now: Date,
): readonly KubeCondition[] {
  const before = conditions.find(({ type }) => type === next.type);
  if (before === undefined) return [...conditions, { ...next, lastTransitionTime: seconds(now) }];
  if (isSame(before, next)) return conditions;
  const lastTransitionTime = before.status === next.status ? before.lastTransitionTime : seconds(now);
  return conditions.map((condition) => (condition === before ? { ...next, lastTransitionTime } : condition));
}

const isSame = (before: KubeCondition, next: Omit<KubeCondition, 'lastTransitionTime'>): boolean =>
  before.status === next.status &&
  before.reason === next.reason &&
  before.message === next.message &&
  before.observedGeneration === next.observedGeneration;

/** The API server stores whole seconds: finer times would look like a change when read back. */
const seconds = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;
