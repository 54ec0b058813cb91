/** What follows an attempt: pure. */
import type { Attempted } from '../jobs/webhook.ts';

/** After the first attempt, the second, and so on; the last again and again, ms. */
const PAUSES_MS = [5_000, 30_000, 120_000, 300_000, 600_000, 1_200_000];
/** A pause is shorter or longer by up to this share of it: messages that failed together are not sent again together. */
const JITTER = 0.2;
/** Bounds of what a server may ask for by `Retry-After`, ms. */
const LEAST_MS = 5_000;
const MOST_MS = 1_800_000;

/** A URL refused for one of these is refused again: it is none that this service sends to. */
const FINAL: ReadonlySet<string> = new Set(['scheme', 'port', 'credentials', 'address']);

export interface Ended extends Attempted {
  /** `Retry-After` of the answer (RFC 9110 §10.2.3). */
  readonly retryAfter?: string | undefined;
}

/**
 * @param attempts made so far, this one among them @param expiresAt of the job, ms since the epoch @param random from 0 to 1
 * @returns when the next attempt may begin, ms since the epoch; or the end
 */
export function afterAttempt(
  { status, error, retryAfter }: Ended,
  attempts: number,
  { now, expiresAt, random }: { readonly now: number; readonly expiresAt: number; readonly random: number },
): { readonly nextAt: number } | 'delivered' | 'failed' {
  if (status !== undefined && status >= 200 && status < 300) return 'delivered';
  // Gone: its receiver wants no more of it.
  if (status === 410 || (error !== undefined && FINAL.has(error))) return 'failed';
  const pause = (PAUSES_MS[Math.min(attempts, PAUSES_MS.length) - 1] ?? LEAST_MS) * (1 - JITTER + 2 * JITTER * random);
  const nextAt = Math.round(now + (askedPause(retryAfter, now) ?? pause));
  return nextAt < expiresAt ? { nextAt } : 'failed';
}

/** Seconds, or a date. @returns ms; undefined for any other text */
function askedPause(retryAfter: string | undefined, now: number): number | undefined {
  const text = (retryAfter ?? '').slice(0, 100).trim();
  if (text === '') return undefined;
  const asked = /^\d{1,10}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isNaN(asked) ? undefined : Math.min(MOST_MS, Math.max(LEAST_MS, asked));
}
