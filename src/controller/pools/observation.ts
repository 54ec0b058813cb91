/** The input and the output of `decide`. Times in ms since the epoch, durations in ms. */

export interface Observation {
  readonly now: number;
  readonly pool: PoolScale;
  /** Undefined while the queue does not answer; that is not the same as an empty queue. */
  readonly demand: Demand | undefined;
  /** How long one order takes on average; undefined before the first has ended. */
  readonly serviceMs: number | undefined;
  /** Whether any worker has ever reported its engines: before that no order can be sent here. */
  readonly enginesKnown: boolean;
  /** Hash of the template whose workers reported their engines last: an image or a volume of another one may have others. */
  readonly reportedTemplate: string | undefined;
  /** Whether that is the pool's present template. */
  readonly enginesCurrent: boolean;
  readonly workers: readonly ObservedWorker[];
  /** Slots whose Job names are taken by Jobs of something else, or of a deleted pool of the same name. */
  readonly foreignSlots: readonly number[];
  /** Earlier values of `desired`, for the stabilisation window. */
  readonly history: readonly { readonly at: number; readonly desired: number }[];
  /** Who else declares a pool of this name and was refused. */
  readonly contender?: string | undefined;
  /** No worker is created before `until`, because of `why`; stays until a worker comes up. */
  readonly backOff: { readonly until: number; readonly why: Trouble } | undefined;
}

export interface PoolScale {
  readonly capacity: number;
  readonly standby: number;
  readonly paused: boolean;
  readonly idleMs: number;
  readonly targetWaitMs: number;
  readonly conversionsPerWorker: number;
  /** Orders that a worker holds at a time. */
  readonly slots: number;
}

export interface Demand {
  /** Orders that no worker holds. */
  readonly pending: number;
  /** Orders that workers hold. */
  readonly inFlight: number;
  /** Age of the order that waits longest; undefined when none waits. */
  readonly oldestMs: number | undefined;
}

/**
 * - `starting`: its pod is coming up and has sent no heartbeat; `stuck`: its pod cannot come up
 * - `idle`, `busy`, `draining`: as its heartbeat says; `silent`: its heartbeat is overdue
 * - `leaving`: its pod or Job is being deleted
 * - `lost`: its node is gone; `succeeded`, `failed`: its pod has ended
 * - `over`: its Job is being deleted and has no running pod; only its name is still taken
 */
export type WorkerState =
  | 'starting'
  | 'stuck'
  | 'idle'
  | 'busy'
  | 'draining'
  | 'silent'
  | 'leaving'
  | 'lost'
  | 'succeeded'
  | 'failed'
  | 'over';

/** What keeps workers from coming up: reasons of the condition `Degraded`. */
export type TroubleReason =
  | 'Unschedulable'
  | 'ImagePullFailed'
  | 'CredentialsMissing'
  | 'PodRefused'
  | 'JobRefused'
  | 'WorkersFail'
  | 'ContainerFailed'
  // They run, and report that they cannot work.
  | 'WorkersUnhealthy'
  // Their pods run, and send no heartbeat.
  | 'WorkersSilent'
  // The pool itself is wrong.
  | 'NameTaken'
  | 'NamespaceRefused'
  | 'NotUnderstood'
  | 'NotDeclared';

export interface Trouble {
  readonly reason: TroubleReason;
  readonly message: string;
  /** It has happened once so far: the next attempt follows soon and may succeed. */
  readonly once?: true;
}

export interface ObservedWorker {
  /** Name of its Job. */
  readonly name: string;
  readonly uid: string;
  readonly slot: number;
  /** Name of its pod, once it has one. */
  readonly pod: string | undefined;
  readonly state: WorkerState;
  /** Why it takes no orders, as its heartbeat says. */
  readonly unwell?: string | undefined;
  /** Whether it was created from the pool's current template. */
  readonly current: boolean;
  /** For `stuck`, and for `silent` once that has lasted. */
  readonly trouble?: Trouble | undefined;
  /** How long its node has failed to start its pod, if it does. */
  readonly stuckMs?: number | undefined;
  /** How long it has been busy without interruption. */
  readonly busyMs: number;
  /** Whether its pod is annotated so that node autoscalers do not evict it. */
  readonly guarded: boolean;
  /** For `succeeded` and `failed`. */
  readonly endedAt?: number | undefined;
  /** For `failed`: it was evicted, preempted or drained, which says nothing about its pool. */
  readonly disrupted?: boolean | undefined;
}

export type PoolAction =
  | { readonly do: 'create'; readonly count: number }
  | { readonly do: 'retire'; readonly worker: ObservedWorker }
  | { readonly do: 'remove'; readonly worker: ObservedWorker }
  | { readonly do: 'guard'; readonly worker: ObservedWorker; readonly on: boolean };

/** Why the number of workers stays as it is. */
export type PoolHold = 'QueueUnknown' | 'Paused' | Trouble;

export interface Decision {
  readonly actions: readonly PoolAction[];
  /** How many workers there should be; undefined while that is unknown. */
  readonly desired: number | undefined;
  readonly hold: PoolHold | undefined;
}

const DEAD: ReadonlySet<WorkerState> = new Set(['lost', 'succeeded', 'failed', 'over']);
const SERVING: ReadonlySet<WorkerState> = new Set(['starting', 'stuck', 'idle', 'busy']);

/** Its pod is neither terminal nor lost: it counts against the capacity. */
export const isLive = ({ state }: ObservedWorker): boolean => !DEAD.has(state);
/** It has sent no heartbeat yet. */
export const isComing = ({ state }: ObservedWorker): boolean => state === 'starting' || state === 'stuck';
/** It takes orders, or soon will. */
export const isServing = ({ state }: ObservedWorker): boolean => SERVING.has(state);

/** Troubles that another node may not have: this one has a full disk, or does not reach the registry. */
const NODE_TROUBLES: ReadonlySet<TroubleReason> = new Set(['ImagePullFailed', 'ContainerFailed']);
/** Its pod cannot start, perhaps only on the node that it is bound to. */
export const hasNodeTrouble = ({ state, trouble }: Pick<ObservedWorker, 'state' | 'trouble'>): boolean =>
  state === 'stuck' && trouble !== undefined && NODE_TROUBLES.has(trouble.reason);
/** It shows that the pool's current template works. */
export const provesTemplate = ({ current, state }: ObservedWorker): boolean => current && (state === 'idle' || state === 'busy');

/** In this time a kubelet pulls an image five times: its back-off doubles from 10 s on (pkg/kubelet, `imageBackOffPeriod`), ms. */
const NODE_TRIES_MS = 300_000;
/** Its node has failed for so long that its pod is removed: the scheduler may choose another node for the next one. */
export const isStranded = (worker: ObservedWorker): boolean => hasNodeTrouble(worker) && (worker.stuckMs ?? 0) >= NODE_TRIES_MS;

/** What came of carrying out a decision. */
export interface ApplyOutcome {
  readonly created: number;
  /** Ms until the next Job may be created, if fewer were created than decided. */
  readonly waitMs: number | undefined;
  /** Why the API server refuses the Jobs. */
  readonly refused: string | undefined;
  /** Slots whose Job names are taken by something that the cache does not show (yet). */
  readonly blocked: readonly number[];
  /** Why an ended Job could not be removed: thrown once the rest has been done, so that the reconciliation is retried. */
  readonly failure: unknown;
}
