/** What follows an attempt to store a result: pure. */
import type { StoringEnd } from '../jobs/destination.ts';

/** After the first attempt, the second, and so on, ms: as many attempts follow the first one. */
const PAUSES_MS = [1_000, 5_000, 20_000, 60_000, 120_000];
/** A pause is shorter or longer by up to this share of it. */
const JITTER = 0.2;
/** The longest pause that a server may ask for by `Retry-After`, ms. */
const MOST_MS = 300_000;

/** Why there was no answer, where another attempt may have one. */
const PASSES: ReadonlySet<string> = new Set(['dns', 'unreachable', 'unavailable', 'interrupted']);
/** Statuses below 500 after which another attempt may succeed (RFC 9110, RFC 6585, RFC 8470). */
const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429]);

export interface StoringAttempt extends StoringEnd {
  /** `Retry-After` of the answer (RFC 9110 §10.2.3). */
  readonly retryAfter?: string | undefined;
}

/**
 * @param attempts begun so far, this one among them @param random from 0 to 1
 * @returns when the next attempt may begin, ms since the epoch; or the end
 */
export function afterStoring(
  { status, error, retryAfter }: StoringAttempt,
  attempts: number,
  { now, random }: { readonly now: number; readonly random: number },
): { readonly nextAt: number } | 'stored' | 'failed' {
  if (status !== undefined && status >= 200 && status < 300) return 'stored';
  const isTransient = status === undefined ? PASSES.has(error ?? '') : status >= 500 || TRANSIENT.has(status);
  const pause = PAUSES_MS[attempts - 1];
  if (!isTransient || pause === undefined) return 'failed';
  const asked = /^\d{1,6}$/.test(retryAfter ?? '') ? Number(retryAfter) * 1_000 : 0;
  return { nextAt: Math.round(now + Math.max(pause * (1 - JITTER + 2 * JITTER * random), Math.min(MOST_MS, asked))) };
}
