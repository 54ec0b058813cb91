/** What a worker asks for its claim, and what it gets: where to fetch the inputs, where to put the output, and the password if there is one. */
import { z } from 'zod';

/** A replica refuses a request of a higher version as `unreadable`: a newer one may answer. */
export const GRANT_VERSION = 1;

const version = z.number().int().min(1).max(GRANT_VERSION);

export const Claimed = z.strictObject({
  version,
  jobId: z.string(),
  attempt: z.string(),
  /** No grant is wanted: the job is a recipe, whose part here is done, and is to go to its next pool. An older replica refuses this as `unreadable`. */
  forward: z.literal(true).optional(),
});
export type Claimed = z.infer<typeof Claimed>;

export const Grant = z.object({
  version,
  /** `file:` or `http(s):` URLs, short-lived, in the order of the record's sources; of a recipe under way, then what its earlier stints made. */
  inputs: z.array(z.url()),
  /** Where this attempt's output goes: no other attempt shares it. */
  output: z.url(),
  password: z.string().optional(),
  /** What follows the source's name in that of the output; unset by replicas that have no such setting. */
  suffix: z.string().optional(),
});
export type Grant = z.infer<typeof Grant>;

/**
 * Why a replica grants nothing. Only `attempt_lost` is final: for all others another replica, or a later try, may succeed.
 * - `attempt_lost`: the job's record no longer names this attempt
 * - `unreadable`: the record or the request is of another version of filemill than the replica
 * - `key_unknown`: the password was encrypted with a key that the replica does not have
 * - `unavailable`: the replica cannot reach what it needs, or is stopping
 */
const refusals = ['attempt_lost', 'unreadable', 'key_unknown', 'unavailable'] as const;
export type GrantRefusal = (typeof refusals)[number];

/** An unknown code of a newer filemill still means that nothing was granted. */
export const grantRefusal = (code: string): GrantRefusal => refusals.find((known) => known === code) ?? 'unavailable';

export class GrantRefused extends Error {
  override readonly name = 'GrantRefused';
  readonly code: GrantRefusal;
  constructor(code: GrantRefusal, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
