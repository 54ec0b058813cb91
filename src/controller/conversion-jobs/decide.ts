/** Decides the next step for a ConversionJob from its current state: pure. */
import type { SubmissionQuestion } from '../../contracts/messages/submission.ts';
import { type ConversionJobObject, isHeld } from './resource.ts';

/** How long the API is asked to cancel the job of a deleted resource, ms; after that the job runs to its end. */
export const CANCEL_WITHIN_MS = 60_000;

export type JobStep =
  /** Do nothing for that long, or until the resource changes. */
  | { readonly is: 'rest'; readonly forMs?: number }
  /** Remove the finalizer that an earlier version set. */
  | { readonly is: 'release' }
  | { readonly is: 'ask'; readonly question: Exclude<SubmissionQuestion, 'upload'> }
  /** Write into the status that its output has expired. */
  | { readonly is: 'expire' }
  | { readonly is: 'remove' };

/** @param now ms since the epoch */
export function nextStep(job: ConversionJobObject, now: number): JobStep {
  const { metadata, status = {} } = job;
  const held = isHeld(metadata);
  if (metadata.deletionTimestamp !== undefined) {
    if (!held) return { is: 'rest' };
    return now >= Date.parse(metadata.deletionTimestamp) + CANCEL_WITHIN_MS ? { is: 'release' } : { is: 'ask', question: 'cancel' };
  }
  if (held) return { is: 'release' };
  if (status.completionTime !== undefined) return afterItsEnd(job, Date.parse(status.completionTime), now);
  return { is: 'ask', question: status.jobId === undefined ? 'convert' : 'look' };
}

/** An expired resource is removed without its job: the output's URL stays valid for the promised two hours. */
function afterItsEnd(job: ConversionJobObject, endedAt: number, now: number): JobStep {
  const { status } = job;
  const removedAt = removalTime(job, endedAt);
  if (now >= removedAt) return { is: 'remove' };
  // An output in a user's own bucket does not expire here.
  const expiresAt = status?.phase === 'Complete' ? Date.parse(status.output?.expiresAt ?? '') || Infinity : Infinity;
  if (now >= expiresAt) return { is: 'expire' };
  return { is: 'rest', forMs: Math.min(removedAt, expiresAt) - now };
}

const removalTime = ({ spec }: ConversionJobObject, endedAt: number): number => endedAt + spec.ttlSecondsAfterFinished * 1_000;

/** Whether a resource that is gone leaves a job to cancel, or an output to delete. One whose time was over leaves its output to clients that have the URL. */
export function leavesJob(job: ConversionJobObject, now: number): boolean {
  const { completionTime, phase } = job.status ?? {};
  return completionTime === undefined || (phase === 'Complete' && now < removalTime(job, Date.parse(completionTime)));
}

const SOONEST_MS = 250;
const LATEST_MS = 15_000;
/** For all jobs together, requests a second. */
const MOST_A_SECOND = 50;

/**
 * How long to wait before the API is asked about an unfinished job again: soon at first, so that the end of a short job is noticed at once, and
 * less often later. Many jobs share the rate of requests.
 * @param ageMs since it was created @param unfinished how many resources it is asked about
 */
export const askAgainAfterMs = (ageMs: number, unfinished: number): number =>
  Math.max(Math.min(LATEST_MS, Math.max(SOONEST_MS, ageMs / 4)), (unfinished / MOST_A_SECOND) * 1_000);

/** After the first failure, the second and so on, ms: a quarter of an hour in all, long enough for a user to correct a wrong key. */
export const UPLOAD_PAUSES_MS: readonly number[] = [10_000, 30_000, 90_000, 270_000, 600_000];

/** @param failures so far, from 1 on @returns ms; undefined to give up */
export const uploadAgainAfterMs = (failures: number, pausesMs = UPLOAD_PAUSES_MS): number | undefined => pausesMs[failures - 1];

/** How soon to read a Secret again that is missing or does not allow its use, ms. */
const SECRET_SOONEST_MS = 2_000;
const SECRET_LATEST_MS = 60_000;

/** @param ageMs since the resource was created */
export const secretAgainAfterMs = (ageMs: number): number => Math.min(SECRET_LATEST_MS, Math.max(SECRET_SOONEST_MS, ageMs / 4));
