/** Files of a job that nobody will read: the input once it has ended, and what losing attempts wrote. */
import { hasEnded } from '../jobs/lifecycle.ts';
import { outputKey } from '../objects/keys.ts';
import type { Action, Seen } from './seen.ts';

export function leftovers({ record, keys = [] }: Seen): Action | undefined {
  const unread = keys.filter(hasEnded(record) ? (key) => key !== record.output?.key : (key) => isLosing(key, record.id, record.attempt));
  return unread.length === 0 ? undefined : { do: 'delete', keys: unread };
}

/** An attempt claims before it writes and keys are listed before records are read: an output of no known claim has lost. */
function isLosing(key: string, jobId: string, attempt: string | undefined): boolean {
  return key.startsWith(outputKey(jobId, '')) && (attempt === undefined || key !== outputKey(jobId, attempt));
}
