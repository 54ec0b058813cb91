/** What a decision means to those who read the pool's status: conditions as Kubernetes' conventions and kstatus understand them. */
import type { Condition } from '../../kube/conditions.ts';
import { type Decision, isComing, isLive, isServing, type Seen, type Trouble } from './seen.ts';

type Said = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** @param invalid why the pool cannot be worked on at all */
export function conditionsOf(seen: Seen, decision: Decision, invalid?: Trouble): readonly Said[] {
  const { hold } = decision;
  // Between two attempts of a back-off nothing has become better yet.
  const trouble = invalid ?? (typeof hold === 'object' ? hold : seen.backOff?.why);
  const serving = seen.workers.filter((worker) => isServing(worker) && !isComing(worker)).length;
  return [
    { type: 'Ready', ...ready(seen, serving, decision, trouble) },
    { type: 'Progressing', ...progressing(seen, serving, decision) },
    {
      type: 'Degraded',
      ...(trouble === undefined
        ? no('AsExpected', 'Nothing is known to keep workers from coming up.')
        : yes(trouble.reason, trouble.message)),
    },
    {
      type: 'CredentialsMissing',
      ...(trouble?.reason === 'CredentialsMissing'
        ? yes('SecretMissing', trouble.message)
        : no('AsExpected', 'Nothing says that workers lack their credentials.')),
    },
  ];
}

/** Ready means that an order sent here will be taken: by a worker that is there, or by one that can be made. */
function ready(seen: Seen, serving: number, { desired = 0, hold }: Decision, trouble: Trouble | undefined): Omit<Said, 'type'> {
  if (hold === 'Paused') return yes('Paused', 'The pool is paused: its workers stay as they are.');
  if (hold === 'QueueUnknown') return no('QueueUnknown', 'NATS does not say what waits: the workers stay as they are.');
  if (serving === 0 && trouble !== undefined) return no(trouble.reason, trouble.message);
  if (serving > 0) return yes('Serving', 'Workers take orders.');
  if (seen.pool.capacity === 0) return yes('Drained', 'Its capacity is 0: orders wait until that is raised.');
  if (!seen.enginesKnown) return no('Starting', 'No worker has said yet what it can do.');
  if (desired > 0) return no('Starting', 'The first worker is on its way.');
  return yes('ScaledToZero', 'Workers come when there is work.');
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
