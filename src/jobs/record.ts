/** A job as it is stored: everything that must survive a restart, at most 16 kB, no secret in the clear. */
import { z } from 'zod';
import { lanes } from '../contracts/messages/order.ts';
import { UploadEnd } from '../contracts/messages/submission.ts';

export const RECORD_VERSION = 1;

/** Ms since the epoch, from the store's clock where the store has one. */
const time = z.number().int();

const Output = z.strictObject({
  key: z.string(),
  filename: z.string(),
  sizeBytes: z.number().int(),
  contentType: z.string(),
  sha256: z.string(),
  files: z.number().int(),
});
const Failed = z.strictObject({ reason: z.string(), message: z.string(), details: z.record(z.string(), z.unknown()) });
const Warning = z.strictObject({ code: z.string(), message: z.string() });

export const JobRecord = z.strictObject({
  version: z.literal(RECORD_VERSION),
  id: z.string(),
  state: z.enum(['queued', 'running', 'done', 'error', 'cancelled']),
  pool: z.string(),
  lane: z.enum(lanes),
  /** It was moved from one pool to another, or is being moved: in the pool that it leaves nobody takes it any more. */
  moved: z.strictObject({ from: z.string(), to: z.string(), at: time }).optional(),
  createdAt: time,
  /** When the job and its files are no longer served; later reads answer 410. */
  expiresAt: time,
  /** From when its wait counts, once it has been given back: creation, and later by the time in workers' hands. */
  queuedAt: time.optional(),
  startedAt: time.optional(),
  endedAt: time.optional(),
  /** Clean name of the first source: results are called after it. */
  filename: z.string(),
  /** In the order sent; `part` is the number that the file is stored by. */
  sources: z.array(z.strictObject({ part: z.number().int(), sizeBytes: z.number().int(), format: z.string() })).min(1),
  /** The tool that was called and what it was given, as its schema read it; a conversion has none. */
  tool: z.strictObject({ slug: z.string(), input: z.record(z.string(), z.unknown()) }).optional(),
  target: z.strictObject({ format: z.string(), extension: z.string() }),
  /** As `catalog/options` read them, without the password. */
  options: z.record(z.string(), z.unknown()),
  /** The password, sealed with the service's key. */
  sealed: z.string().optional(),
  /** Claims so far: the fourth ends the job. */
  attempts: z.number().int(),
  /** How the last attempt ended to put the output into a bucket of the client's own. */
  upload: UploadEnd.optional(),
  /** The holder's fencing token while running; the winner's at the end. */
  attempt: z.string().optional(),
  /** Earlier holders' tokens whose claims count, because they fell silent: who turns out to have been late only takes its own back. */
  lapsed: z.array(z.string()).optional(),
  engine: z.strictObject({ name: z.string(), version: z.string() }).optional(),
  warnings: z.array(Warning),
  output: Output.optional(),
  failure: Failed.optional(),
});
export type JobRecord = z.infer<typeof JobRecord>;
export type StoredOutput = z.infer<typeof Output>;
export type StoredFailure = z.infer<typeof Failed>;
