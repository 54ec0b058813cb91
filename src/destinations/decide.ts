/** What follows an attempt to store a result: pure. */
import { canBeStoredLater, type StoringEnd } from '../jobs/destination.ts';

/** After the first attempt, the second, and so on, ms: as many attempts follow the first one. */
const PAUSES_MS = [1_000, 5_000, 20_000, 60_000, 120_000];
/** A pause is shorter or longer by up to this share of it. */
const JITTER = 0.2;
/** The longest pause that a server may ask for by `Retry-After`, ms. */
const MOST_MS = 300_000;

export interface StoringAttempt extends StoringEnd {
  /** `Retry-After` of the answer (RFC 9110 §10.2.3). */
  readonly retryAfter?: string | undefined;
}

/**
 * @param attempts begun so far, this one among them @param random from 0 to 1
 * @returns when the next attempt may begin, ms since the epoch; or the end
 */
export function afterStoring(
  { retryAfter, ...end }: StoringAttempt,
  attempts: number,
  { now, random }: { readonly now: number; readonly random: number },
): { readonly nextAt: number } | 'stored' | 'failed' {
  if (end.status !== undefined && end.status >= 200 && end.status < 300) return 'stored';
  const pause = PAUSES_MS[attempts - 1];
  if (!canBeStoredLater(end) || end.error === 'timeout' || pause === undefined) return 'failed';
  const asked = /^\d{1,6}$/.test(retryAfter ?? '') ? Number(retryAfter) * 1_000 : 0;
  return { nextAt: Math.round(now + Math.max(pause * (1 - JITTER + 2 * JITTER * random), Math.min(MOST_MS, asked))) };
}
