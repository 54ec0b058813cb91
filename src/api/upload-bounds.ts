/** More uploads than a client may have at a time: refused like every limit that is reached. */
import { Failure } from '../errors.ts';
import type { Client } from '../limits/client.ts';
import { Exceeded } from '../uploads/store.ts';
import type { ApiParts } from './parts.ts';

const TIERS = {
  uploads: { tier: 'uploads', says: (limit: number) => `At most ${limit} uploads may be kept at once` },
  bytes: { tier: 'upload_bytes', says: (limit: number) => `Uploads may have at most ${limit} bytes together` },
} as const;

/** @param error anything thrown @returns it, or as a failure that says which bound was reached and when there is room again */
export async function beyondBounds(
  { limits, clock }: Pick<ApiParts, 'limits' | 'clock'>,
  client: Client,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof Exceeded)) return error;
  const { bound, limit, freeAt = 0 } = error;
  const { tier, says } = TIERS[bound];
  const { rejectionsLastHour } = await limits.limiter.usage(client);
  const seconds = Math.max(1, Math.ceil((freeAt - clock()) / 1000));
  return new Failure('RATE_LIMITED', {
    says: `${says(limit)}: delete one that is not needed, or try again in ${seconds} s.`,
    details: { tier, limit, reset_seconds: seconds, rejections_last_hour: rejectionsLastHour },
    retryAfter: seconds,
  });
}
