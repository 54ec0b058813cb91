/** What a decision about a pool may know, and what it may ask for. Times in ms since the epoch, durations in ms. */

export interface Seen {
  readonly now: number;
  readonly pool: PoolSettings;
  /** Undefined while the queue does not answer: nothing may be concluded from that. */
  readonly demand: Demand | undefined;
  /** How long one order takes on average; undefined before the first has ended. */
  readonly serviceMs: number | undefined;
  /** Whether any worker ever said what it can do: before that no order can be sent here. */
  readonly enginesKnown: boolean;
  readonly workers: readonly Worker[];
  /** Names of Jobs that are in the way of ours: not the pool's, or of its namesake that was deleted. */
  readonly foreignSlots: readonly number[];
  /** Earlier answers of `desired`. */
  readonly history: readonly { readonly at: number; readonly desired: number }[];
  /** Who else declares a pool of its name, and does not get it. */
  readonly contender?: string | undefined;
  /** Why none is made before `until`, though none is held up; stays until one comes up. */
  readonly backOff: { readonly until: number; readonly why: Trouble } | undefined;
}

export interface PoolSettings {
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
  /** Orders that nobody holds. */
  readonly pending: number;
  /** Orders that workers hold. */
  readonly inFlight: number;
  /** Age of the order that waits longest; undefined when none waits. */
  readonly oldestMs: number | undefined;
}

/**
 * - `starting`: its pod is on its way, nothing was heard of it; `stuck`: its pod cannot come up
 * - `idle`, `busy`, `draining`: by its own word; `silent`: its word is overdue
 * - `leaving`: its pod or Job is being deleted
 * - `lost`: its node is gone; `succeeded`, `failed`: its pod has ended
 * - `over`: its Job is being deleted and has no pod that runs; only its name is still taken
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
  // They are up, and say that they cannot work.
  | 'WorkersUnhealthy'
  // Their pods run, and nothing is heard of them.
  | 'WorkersSilent'
  // And what is wrong with the pool itself.
  | 'NameTaken'
  | 'NamespaceRefused'
  | 'NotUnderstood'
  | 'NotDeclared';
export interface Trouble {
  readonly reason: TroubleReason;
  readonly message: string;
}

export interface Worker {
  /** Of its Job. */
  readonly name: string;
  readonly uid: string;
  readonly slot: number;
  /** Name of its pod, once it has one. */
  readonly pod: string | undefined;
  readonly state: WorkerState;
  /** Why it takes no orders, by its own word. */
  readonly unwell?: string | undefined;
  /** Whether it was made from the pool's present template. */
  readonly current: boolean;
  /** For `stuck`, and for `silent` where that has lasted. */
  readonly trouble?: Trouble | undefined;
  /** How long it has been busy without a pause. */
  readonly busyMs: number;
  /** Whether autoscalers of nodes are told to leave it alone. */
  readonly guarded: boolean;
  /** For `succeeded` and `failed`. */
  readonly endedAt?: number | undefined;
  /** For `failed`: it was evicted, preempted or drained, which tells nothing of its pool. */
  readonly disrupted?: boolean | undefined;
}

export type Action =
  | { readonly do: 'create'; readonly count: number }
  | { readonly do: 'retire'; readonly worker: Worker }
  | { readonly do: 'remove'; readonly worker: Worker }
  | { readonly do: 'guard'; readonly worker: Worker; readonly on: boolean };

/** Why the number of workers stays as it is. */
export type Hold = 'QueueUnknown' | 'Paused' | Trouble;

export interface Decision {
  readonly actions: readonly Action[];
  /** Workers that there should be; undefined while that is not known. */
  readonly desired: number | undefined;
  readonly hold: Hold | undefined;
}

const DEAD: ReadonlySet<WorkerState> = new Set(['lost', 'succeeded', 'failed', 'over']);
const SERVING: ReadonlySet<WorkerState> = new Set(['starting', 'stuck', 'idle', 'busy']);

/** Its pod is neither terminal nor lost: it counts against the capacity. */
export const isLive = ({ state }: Worker): boolean => !DEAD.has(state);
/** Nothing was heard of it yet. */
export const isComing = ({ state }: Worker): boolean => state === 'starting' || state === 'stuck';
/** It takes orders, or soon will. */
export const isServing = ({ state }: Worker): boolean => SERVING.has(state);
