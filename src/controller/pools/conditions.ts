/** What a decision means to those who read the pool's status: conditions as Kubernetes' conventions and kstatus understand them. */
import type { Condition } from '../../kube/conditions.ts';
import { type Decision, isLive, isServing, type Seen, type Trouble } from './seen.ts';

type Said = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** @param invalid why the pool cannot be worked on at all */
export function conditionsOf(seen: Seen, { desired, hold }: Decision, invalid?: Trouble): readonly Said[] {
  const trouble = invalid ?? (typeof hold === 'object' ? hold : undefined);
  const serving = seen.workers.filter(isServing).filter(({ state }) => state !== 'starting' && state !== 'stuck').length;
  const starting = seen.workers.filter(({ state }) => state === 'starting' || state === 'stuck').length;
  const going = seen.workers.filter(({ state }) => state === 'draining' || state === 'leaving').length;
  const outdated = seen.workers.filter((worker) => isLive(worker) && !worker.current).length;
  const missing = (desired ?? 0) - serving;
  const isMoving = hold !== 'Paused' && (starting > 0 || going > 0 || outdated > 0 || missing > 0);
  const missingCredentials = trouble?.reason === 'CredentialsMissing';
  return [
    ready(seen, serving, desired, hold, trouble),
    isMoving
      ? {
          type: 'Progressing',
          status: 'True',
          reason: 'Scaling',
          message: `${serving} of ${desired ?? serving} workers serve; ${starting} start, ${going} leave, ${outdated} are of an older template.`,
        }
      : { type: 'Progressing', status: 'False', reason: 'AsDesired', message: 'The workers are as they should be.' },
    trouble === undefined
      ? { type: 'Degraded', status: 'False', reason: 'AsExpected', message: 'Workers come up as they should.' }
      : { type: 'Degraded', status: 'True', ...trouble },
    missingCredentials
      ? { type: 'CredentialsMissing', status: 'True', reason: 'SecretMissing', message: trouble.message }
      : { type: 'CredentialsMissing', status: 'False', reason: 'AsExpected', message: 'Nothing says that workers lack their credentials.' },
  ];
}

/** Ready means that an order sent here will be taken: by a worker that is there, or by one that can be made. */
function ready(seen: Seen, serving: number, desired: number | undefined, hold: Decision['hold'], trouble: Trouble | undefined): Said {
  const says = (status: 'True' | 'False', reason: string, message: string): Said => ({ type: 'Ready', status, reason, message });
  if (hold === 'Paused') return says('True', 'Paused', 'The pool is paused: its workers stay as they are.');
  if (hold === 'QueueUnknown') return says('False', 'QueueUnknown', 'NATS does not say what waits: the workers stay as they are.');
  if (serving === 0 && trouble !== undefined) return says('False', trouble.reason, trouble.message);
  if (!seen.enginesKnown && seen.pool.capacity > 0) return says('False', 'Starting', 'No worker has said yet what it can do.');
  if (serving === 0 && (desired ?? 0) > 0) return says('False', 'Starting', 'The first worker is on its way.');
  return says('True', serving > 0 ? 'Serving' : 'ScaledToZero', serving > 0 ? 'Workers take orders.' : 'Workers come when there is work.');
}
