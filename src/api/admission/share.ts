/** A client's share of the limits, reserved for one request: enlarged where that becomes several jobs, refunded where no work was done. */
import { Failure } from '../../errors.ts';
import type { LimitRefusal } from '../../limits/answers/refusal.ts';
import type { Usage } from '../../limits/answers/usage.ts';
import type { Client } from '../../limits/clients/client.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { Want } from '../../limits/tiers.ts';
import type { Log } from '../../telemetry/log.ts';
import { statusOf } from '../http/problem.ts';

export interface ReservedShare {
  /** @param jobs all of the request: the first may have another id than it was reserved by; one that counts several times comes so often @param tools slugs of further tools, for each call @throws Failure `RATE_LIMITED`; then nothing stays reserved */
  readonly enlarge: (jobs: readonly string[], tools?: readonly string[]) => Promise<void>;
  /** Twice is no error. */
  readonly refund: () => Promise<void>;
}

/** @param isRefunded whether no work was done before this error @returns refunds the share after it; a refund that fails is logged */
export const refunding =
  ({ refund }: ReservedShare, log: Pick<Log, 'warn'>, isRefunded = (error: unknown) => REFUNDED_STATUSES.has(statusOf(error))) =>
  async (error: unknown): Promise<void> => {
    if (isRefunded(error)) await refund().catch((err: unknown) => log.warn({ err }, 'a reserved share could not be refunded'));
  };

/** Share of a request that creates no job. */
export const NO_SHARE: ReservedShare = { enlarge: async () => {}, refund: async () => {} };

/** Statuses after which the client's share is refunded: no work was done for it. */
export const REFUNDED_STATUSES: ReadonlySet<number> = new Set([400, 413, 415, 501, 503]);

/** @param note gets what the client has used then, after each change @throws Failure `RATE_LIMITED`, `BANNED` */
export async function reserve(
  limiter: Limiter,
  client: Client,
  want: Want,
  note: (usage: Usage) => void = () => {},
): Promise<ReservedShare> {
  const decided = await limiter.reserve(client, want);
  note(decided.usage);
  if (!decided.granted) throw limitFailure(decided);
  let { reservation } = decided;
  return {
    async enlarge(jobs, tools = []) {
      const before = reservation;
      if (tools.length === 0 && jobs.join() === before.taken.jobs.join()) return;
      // If the answer is lost, either the old or the new ids are stored: a refund finds them by any.
      reservation = { ...before, taken: { ...before.taken, jobs: [...new Set([...before.taken.jobs, ...jobs])] } };
      const enlarged = await limiter.enlarge(before, jobs, tools);
      note(enlarged.usage);
      if (!enlarged.granted) throw limitFailure(enlarged);
      reservation = enlarged.reservation;
    },
    refund: async () => note(await limiter.refund(reservation)),
  };
}

export const limitFailure = ({ code, says, details, retryAfterSeconds }: LimitRefusal): Failure =>
  new Failure(code, { says, details, retryAfter: retryAfterSeconds });
