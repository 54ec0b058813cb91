/** When to retry a failed upload, and when to give up: pure. */

/** After the first failure, the second and so on, ms: a quarter of an hour in all, long enough for a user to correct a wrong key. */
export const UPLOAD_PAUSES_MS: readonly number[] = [10_000, 30_000, 90_000, 270_000, 600_000];

/** @param failures so far, from 1 on @returns ms; undefined to give up */
export const uploadAgainAfterMs = (failures: number, pausesMs = UPLOAD_PAUSES_MS): number | undefined => pausesMs[failures - 1];

/** How soon to read a Secret again that is missing or does not allow its use, ms. */
const SOONEST_MS = 2_000;
const LATEST_MS = 60_000;

/** @param ageMs since the resource was created */
export const secretAgainAfterMs = (ageMs: number): number => Math.min(LATEST_MS, Math.max(SOONEST_MS, ageMs / 4));
