/** Translates an observation and a decision into status conditions, as Kubernetes' conventions and kstatus read them. */
import type { KubeCondition } from '../../../kube/conditions.ts';
import { type Decision, isComing, isLive, isServing, type Observation, type Trouble, type TroubleReason } from '../observation.ts';

type NextCondition = Pick<KubeCondition, 'type' | 'status' | 'reason' | 'message'>;

/** Troubles that may end without an operator: a node is added, NATS comes back, a worker's self-check passes. */
const TRANSIENT: ReadonlySet<TroubleReason> = new Set(['Unschedulable', 'NotDeclared', 'WorkersUnhealthy', 'WorkersSilent']);

/** @param trouble as `troubleOf` judges */
export function conditionsOf(observed: Observation, decision: Decision, trouble: Trouble | undefined): readonly NextCondition[] {
  const serving = observed.workers.filter((worker) => isServing(worker) && !isComing(worker) && worker.unwell === undefined).length;
  // Tools that follow kstatus, such as `helm --wait`, give up at once where a pool is Stalled: one worker that found NATS too slow is no reason.
  const stalled = trouble !== undefined && !TRANSIENT.has(trouble.reason) && !(trouble.reason === 'WorkersFail' && trouble.once === true);
  return [
    { type: 'Ready', ...ready(observed, serving, decision, trouble) },
    {
      type: 'Reconciling',
      ...(stalled ? no(trouble.reason, 'The pool needs attention: see the condition Stalled.') : reconciling(observed, serving, decision)),
    },
    { type: 'Stalled', ...(stalled ? yes(trouble.reason, trouble.message) : no('AsExpected', 'The pool needs no attention.')) },
    { type: 'Progressing', ...progressing(observed, serving, decision) },
    {
      type: 'Degraded',
      ...(trouble === undefined ? no('AsExpected', 'No problem keeps workers from starting.') : yes(trouble.reason, trouble.message)),
    },
    { type: 'NameContested', ...contested(observed, trouble) },
    {
      type: 'CredentialsMissing',
      ...(trouble?.reason === 'CredentialsMissing'
        ? yes('SecretMissing', trouble.message)
        : no('AsExpected', 'Workers have their credentials, as far as is known.')),
    },
  ];
}

/** Both sides of a contested name see the other: the pool that has it and the one that was refused. */
function contested({ contender }: Observation, trouble: Trouble | undefined): Omit<NextCondition, 'type'> {
  if (trouble?.reason === 'NameTaken') return yes('NameTaken', trouble.message);
  if (contender === undefined) return no('AsExpected', 'No other resource is known to declare a pool of this name.');
  return yes('NameWanted', `Another resource declares a pool of this name and was refused: ${contender}.`);
}

/** Ready means that an order sent here will be taken, by a running worker or by one that can be created. */
function ready(
  observed: Observation,
  serving: number,
  { desired = 0, hold }: Decision,
  trouble: Trouble | undefined,
): Omit<NextCondition, 'type'> {
  if (hold === 'Paused') return yes('Paused', 'The pool is paused: its workers stay as they are.');
  if (hold === 'QueueUnknown') return no('QueueUnknown', 'The queue cannot be read from NATS: the workers stay as they are.');
  if (serving === 0 && trouble !== undefined) return no(trouble.reason, trouble.message);
  if (serving > 0) return yes('Serving', 'Workers take orders.');
  if (observed.pool.capacity === 0) return yes('Drained', 'The capacity is 0: orders wait until it is raised.');
  if (!observed.enginesKnown) return no('Starting', 'No worker has reported its engines yet.');
  if (desired > 0) return yes('ScalingFromZero', 'The first worker is starting.');
  return yes('ScaledToZero', 'Workers start when there is work.');
}

/** Whether the pool is moving towards its spec; changes in load do not count. */
function reconciling(
  { workers, pool, enginesKnown, enginesCurrent }: Observation,
  serving: number,
  { hold, desired }: Decision,
): Omit<NextCondition, 'type'> {
  if (hold === 'Paused') return no('Paused', 'The pool is paused: its workers stay as they are.');
  const outdated = workers.filter((worker) => isLive(worker) && !worker.current).length;
  if (outdated > 0) return yes('RollingOut', `${outdated} workers run an older template.`);
  if (pool.capacity > 0 && !enginesKnown) return yes('Starting', 'No worker has reported its engines yet.');
  if (pool.capacity > 0 && !enginesCurrent) return yes('Starting', 'No worker of the present template has reported its engines yet.');
  if (serving === 0 && (desired ?? 0) > 0 && typeof hold === 'object') return yes(hold.reason, hold.message);
  return no('AsDeclared', 'The pool matches its spec.');
}

function progressing({ workers }: Observation, serving: number, { desired, hold }: Decision): Omit<NextCondition, 'type'> {
  if (hold === 'Paused') return no('Paused', 'The pool is paused: its workers stay as they are.');
  if (desired === undefined) return { ...no('Held', 'The desired number of workers is unknown.'), status: 'Unknown' };
  const starting = workers.filter(isComing).length;
  const going = workers.filter(({ state }) => state === 'draining' || state === 'leaving').length;
  const outdated = workers.filter((worker) => isLive(worker) && !worker.current).length;
  if (starting + going + outdated === 0 && serving >= desired) return no('AsDesired', 'The number of workers is as desired.');
  const message = `${serving} of ${desired} workers serve; ${starting} are starting, ${going} are leaving, ${outdated} run an older template.`;
  return yes('Scaling', message);
}

const yes = (reason: string, message: string) => ({ status: 'True', reason, message }) as const;
const no = (reason: string, message: string) => ({ status: 'False', reason, message }) as const;
