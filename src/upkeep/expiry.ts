/** What is expired loses its files at once; its record stays for a while, so that readers hear "expired" and not "unknown". */
import { visibility } from '../jobs/lifecycle.ts';
import type { Action, Seen } from './seen.ts';

export function expiry({ now, record, keys }: Seen): Action | undefined {
  const seenAs = visibility(record, now);
  // The record last: while it stands, files that could not be removed this time, or not be seen, are still known to be a job's.
  if (seenAs === 'live' || keys === undefined) return undefined;
  if (keys.length > 0) return { do: 'delete', keys };
  return seenAs === 'forgotten' ? { do: 'forget' } : undefined;
}
