/** What keeps a pool's workers from coming up or from taking orders: the one judgement behind the condition Degraded, its metric, and what API replicas learn. */
import { type Decision, hasNodeTrouble, isServing, type Observation, type Trouble } from '../observation.ts';

/** @param invalid why the pool cannot be reconciled at all */
export function troubleOf(observed: Observation, { hold }: Pick<Decision, 'hold'>, invalid?: Trouble): Trouble | undefined {
  if (invalid !== undefined) return invalid;
  if (typeof hold === 'object') return hold;
  // Between two attempts of a back-off, and while a worker tries whether it is over, the trouble still holds.
  return observed.backOff?.why ?? unhealthy(observed) ?? hanging(observed);
}

/** Workers that run and take no orders, as their heartbeats say. */
function unhealthy({ workers }: Observation): Trouble | undefined {
  const those = workers.filter((worker) => isServing(worker) && worker.unwell !== undefined);
  const [first] = those;
  if (first === undefined) return undefined;
  const message = `${those.length} of ${workers.filter(isServing).length} workers take no orders; ${first.pod ?? first.name} reports ${first.unwell}`;
  return { reason: 'WorkersUnhealthy', message };
}

/** Workers whose pods run and send no heartbeat, or cannot start on their nodes, while others work. */
const hanging = ({ workers }: Observation): Trouble | undefined =>
  workers.find((worker) => hasNodeTrouble(worker) || worker.trouble?.reason === 'WorkersSilent')?.trouble;
