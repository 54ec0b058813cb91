/** What a decision means to those who read the pool's status: conditions as Kubernetes' conventions and kstatus understand them. */
import type { Condition } from '../../../kube/conditions.ts';
import { type Decision, isComing, isLive, isServing, type Seen, type Trouble, type TroubleReason } from '../observe/seen.ts';

type Said = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** What a node that is added, NATS that comes back, or a worker that tries itself may end without anybody looking at the pool. */
const PASSING: ReadonlySet<TroubleReason> = new Set(['Unschedulable', 'NotDeclared', 'WorkersUnhealthy', 'WorkersSilent']);

/** @param invalid why the pool cannot be worked on at all */
export function conditionsOf(seen: Seen, decision: Decision, invalid?: Trouble): readonly Said[] {
  const { hold } = decision;
  // Between two attempts of a back-off nothing has become better yet.
  const trouble = invalid ?? (typeof hold === 'object' ? hold : (seen.backOff?.why ?? unhealthy(seen) ?? silent(seen)));
  const serving = seen.workers.filter((worker) => isServing(worker) && !isComing(worker) && worker.unwell === undefined).length;
  const stalled = trouble !== undefined && !PASSING.has(trouble.reason);
  return [
    { type: 'Ready', ...ready(seen, serving, decision, trouble) },
    {
      type: 'Reconciling',
      ...(stalled ? no(trouble.reason, 'Somebody has to act first: see Stalled.') : reconciling(seen, serving, decision)),
    },
    { type: 'Stalled', ...(stalled ? yes(trouble.reason, trouble.message) : no('AsExpected', 'Nothing waits for somebody to act.')) },
    { type: 'Progressing', ...progressing(seen, serving, decision) },
    {
      type: 'Degraded',
      ...(trouble === undefined
        ? no('AsExpected', 'Nothing is known to keep workers from coming up.')
        : yes(trouble.reason, trouble.message)),
    },
    { type: 'NameContested', ...contested(seen, trouble) },
    {
      type: 'CredentialsMissing',
      ...(trouble?.reason === 'CredentialsMissing'
        ? yes('SecretMissing', trouble.message)
        : no('AsExpected', 'Nothing says that workers lack their credentials.')),
    },
  ];
}

/** Both who has the name and who would have it are told of the other. */
function contested({ contender }: Seen, trouble: Trouble | undefined): Omit<Said, 'type'> {
  if (trouble?.reason === 'NameTaken') return yes('NameTaken', trouble.message);
  if (contender === undefined) return no('AsExpected', 'Nobody else is known to declare a pool of this name.');
  return yes('NameWanted', `A pool of this name is also declared by ${contender}, which does not get it.`);
}

/** Workers that are up and take no orders, as each says itself. */
function unhealthy({ workers }: Seen): Trouble | undefined {
  const those = workers.filter((worker) => isServing(worker) && worker.unwell !== undefined);
  const [first] = those;
  if (first === undefined) return undefined;
  const message = `${those.length} of ${workers.filter(isServing).length} workers take no orders; ${first.pod ?? first.name} says ${first.unwell}`;
  return { reason: 'WorkersUnhealthy', message };
}

/** Workers of which nothing is heard although their pods run. */
const silent = ({ workers }: Seen): Trouble | undefined => workers.find(({ trouble }) => trouble?.reason === 'WorkersSilent')?.trouble;

/** Ready means that an order sent here will be taken: by a worker that is there, or by one that can be made. */
function ready(seen: Seen, serving: number, { desired = 0, hold }: Decision, trouble: Trouble | undefined): Omit<Said, 'type'> {
  if (hold === 'Paused') return yes('Paused', 'The pool is paused: its workers stay as they are.');
  if (hold === 'QueueUnknown') return no('QueueUnknown', 'NATS does not say what waits: the workers stay as they are.');
  if (serving === 0 && trouble !== undefined) return no(trouble.reason, trouble.message);
  if (serving > 0) return yes('Serving', 'Workers take orders.');
  if (seen.pool.capacity === 0) return yes('Drained', 'Its capacity is 0: orders wait until that is raised.');
  if (!seen.enginesKnown) return no('Starting', 'No worker has said yet what it can do.');
  if (desired > 0) return yes('ScalingFromZero', 'The first worker is on its way.');
  return yes('ScaledToZero', 'Workers come when there is work.');
}

/** Whether the pool is on its way to what its spec says: load that comes and goes is no part of that. */
function reconciling({ workers, pool, enginesKnown }: Seen, serving: number, { hold, desired }: Decision): Omit<Said, 'type'> {
  if (hold === 'Paused') return no('Paused', 'The pool is paused: its workers stay as they are.');
  const outdated = workers.filter((worker) => isLive(worker) && !worker.current).length;
  if (outdated > 0) return yes('RollingOut', `${outdated} workers are of an older template.`);
  if (pool.capacity > 0 && !enginesKnown) return yes('Starting', 'No worker has said yet what it can do.');
  if (serving === 0 && (desired ?? 0) > 0 && typeof hold === 'object') return yes(hold.reason, hold.message);
  return no('AsDeclared', 'The pool is as its spec says.');
}

function progressing({ workers }: Seen, serving: number, { desired, hold }: Decision): Omit<Said, 'type'> {
  if (hold === 'Paused') return no('Paused', 'The pool is paused: its workers stay as they are.');
  if (desired === undefined) return { ...no('Held', 'How many workers there should be is not known.'), status: 'Unknown' };
  const starting = workers.filter(isComing).length;
  const going = workers.filter(({ state }) => state === 'draining' || state === 'leaving').length;
  const outdated = workers.filter((worker) => isLive(worker) && !worker.current).length;
  if (starting + going + outdated === 0 && serving >= desired) return no('AsDesired', 'The workers are as they should be.');
  const message = `${serving} of ${desired} workers serve; ${starting} start, ${going} leave, ${outdated} are of an older template.`;
  return yes('Scaling', message);
}

const yes = (reason: string, message: string) => ({ status: 'True', reason, message }) as const;
const no = (reason: string, message: string) => ({ status: 'False', reason, message }) as const;
