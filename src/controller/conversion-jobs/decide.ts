/** What is to be done next for a ConversionJob, as it is now: pure, and the same however often it is asked. */
import type { SubmissionQuestion } from '../../contracts/messages/submission.ts';
import { type ConversionJobObject, isHeld } from './resource.ts';

/** A deletion does not wait for longer than this for the API to cancel the job, ms. */
export const CANCEL_WITHIN_MS = 60_000;

export type Step =
  /** Nothing, for so long or until the resource changes. */
  | { readonly is: 'rest'; readonly forMs?: number }
  /** The finalizer is to be set, or to go. */
  | { readonly is: 'hold' | 'release' }
  | { readonly is: 'ask'; readonly question: Exclude<SubmissionQuestion, 'upload'> }
  /** Its output is no longer there. */
  | { readonly is: 'expire' }
  | { readonly is: 'remove' };

/** @param now ms since the epoch */
export function nextStep(job: ConversionJobObject, now: number): Step {
  const { metadata, status = {} } = job;
  const held = isHeld(metadata);
  if (metadata.deletionTimestamp !== undefined) {
    if (!held) return { is: 'rest' };
    return now >= Date.parse(metadata.deletionTimestamp) + CANCEL_WITHIN_MS ? { is: 'release' } : { is: 'ask', question: 'cancel' };
  }
  if (status.completionTime !== undefined) return afterItsEnd(job, Date.parse(status.completionTime), now);
  // Before the job is there: a resource deleted in between would leave it running.
  if (!held) return { is: 'hold' };
  return { is: 'ask', question: status.jobId === undefined ? 'convert' : 'look' };
}

/** A resource whose time is over goes without its job: who has the output's URL was promised two hours. */
function afterItsEnd({ metadata, spec, status }: ConversionJobObject, endedAt: number, now: number): Step {
  const goesAt = endedAt + spec.ttlSecondsAfterFinished * 1_000;
  if (now >= goesAt) return isHeld(metadata) ? { is: 'release' } : { is: 'remove' };
  // What was uploaded to somebody's own bucket is theirs, and does not expire here.
  const expiresAt = status?.phase === 'Complete' ? Date.parse(status.output?.expiresAt ?? '') || Infinity : Infinity;
  if (now >= expiresAt) return { is: 'expire' };
  return { is: 'rest', forMs: Math.min(goesAt, expiresAt) - now };
}

const SOONEST_MS = 250;
const LATEST_MS = 15_000;
/** Of all jobs together, questions a second. */
const MOST_A_SECOND = 50;

/**
 * How long to wait before the API is asked about an unfinished job again: a short job is seen to end at once, a long one is not asked about
 * all the time, and many of them share what the API is asked.
 * @param ageMs since it was made @param unfinished how many resources it is asked about
 */
export const askAgainAfterMs = (ageMs: number, unfinished: number): number =>
  Math.max(Math.min(LATEST_MS, Math.max(SOONEST_MS, ageMs / 4)), (unfinished / MOST_A_SECOND) * 1_000);
