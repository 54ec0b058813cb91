/** The shape of a stored job, by which records are validated when they are read. */
import { z } from 'zod';
import { StoredStep } from '../catalog/recipes/recipe.ts';
import { PropertyVerdict } from '../contracts/api/job.ts';
import { lanes } from '../contracts/messages/order.ts';
import { UploadEnd } from '../contracts/messages/submission.ts';

/** Ms since the epoch, from the store's clock where the store has one. */
const time = z.number().int();

export const StoredOutputSchema = z.strictObject({
  key: z.string(),
  filename: z.string(),
  sizeBytes: z.number().int(),
  contentType: z.string(),
  sha256: z.string(),
  files: z.number().int(),
});
export const StoredFailureSchema = z.strictObject({ reason: z.string(), message: z.string(), details: z.record(z.string(), z.unknown()) });
/** A recipe under way: what it does, how it is divided among pools, and what was made so far. */
export const StoredRecipeSchema = z.strictObject({
  steps: z.array(StoredStep),
  /** Names of steps. */
  outputs: z.array(z.string()),
  /** Clean names of the sources. */
  names: z.array(z.string()),
  /** As `catalog/recipes/stints.ts` says. */
  stints: z.array(z.strictObject({ pool: z.string(), runs: z.array(z.tuple([z.number().int(), z.string().nullable()])) })).min(1),
  /** Number of the stint that is next, or runs. */
  at: z.number().int(),
  /** Whose share of a pool it counts towards, hashed. */
  client: z.string(),
  /** What earlier stints made and later ones read, in one object. */
  carried: z.strictObject({ key: z.string(), sizeBytes: z.number().int() }).optional(),
});
/** A named result of a recipe: a part of the job's output, which is stored uncompressed there. */
export const StoredPartSchema = z.strictObject({
  name: z.string(),
  filename: z.string(),
  sizeBytes: z.number().int(),
  contentType: z.string(),
  sha256: z.string(),
  files: z.number().int(),
  /** Its first byte in the output. */
  start: z.number().int(),
});
const Warning = z.strictObject({ code: z.string(), message: z.string() });

const Webhook = z.strictObject({
  /** `waiting` until the first attempt, which follows the job's end; `failed`: there will be no more. */
  state: z.enum(['waiting', 'pending', 'delivered', 'failed']),
  attempts: z.number().int(),
  /** No attempt begins before: moved ahead as one begins, so that no two processes make the same one. */
  nextAt: time,
  /** Start of the attempt that is under way, or that ended with its process. */
  begunAt: time.optional(),
  /** The same in all attempts. */
  messageId: z.string(),
  /** `WebhookTarget`, encrypted; removed when no attempt is to follow. */
  sealed: z.string().optional(),
  /** HTTP status of the last answer; or why there was none. */
  lastStatus: z.number().int().optional(),
  lastError: z.string().optional(),
});

const Destination = z.strictObject({
  /** `waiting` until the first attempt, which follows the conversion; `failed`: the job has failed. */
  state: z.enum(['waiting', 'pending', 'stored', 'failed']),
  attempts: z.number().int(),
  /** No attempt begins before: moved ahead as one begins and goes on, so that no two processes make the same one. */
  nextAt: time,
  /** Start of the attempt that is under way, or that ended with its process. */
  begunAt: time.optional(),
  /** Attempts that ended with their processes. */
  crashes: z.number().int().optional(),
  /** `DestinationTarget`, encrypted; removed with the job's end. */
  sealed: z.string().optional(),
  /** HTTP status of the last answer; or why there was none. */
  lastStatus: z.number().int().optional(),
  lastError: z.string().optional(),
});

export const JobRecordSchema = z.strictObject({
  version: z.literal(1),
  id: z.string(),
  /** `storing`: converted, and on its way to where its client wants it. */
  state: z.enum(['queued', 'running', 'storing', 'done', 'error', 'cancelled']),
  pool: z.string(),
  lane: z.enum(lanes),
  /** The last move from one pool to another, perhaps unfinished: no worker of the pool that it leaves takes it any more. */
  moved: z.strictObject({ from: z.string(), to: z.string(), at: time }).optional(),
  createdAt: time,
  /** When the job and its files are no longer served; later reads answer 410. */
  expiresAt: time,
  /** Start of its waiting time once it was requeued: its creation plus the time that workers held it. */
  queuedAt: time.optional(),
  startedAt: time.optional(),
  endedAt: time.optional(),
  /** Clean name of the first source: results are named after it. */
  filename: z.string(),
  /** In the order sent; `part` is the number under which the file is stored. */
  sources: z.array(z.strictObject({ part: z.number().int(), sizeBytes: z.number().int(), format: z.string() })).min(1),
  /** The tool that was called and its parsed input; a conversion has none. */
  tool: z.strictObject({ slug: z.string(), input: z.record(z.string(), z.unknown()) }).optional(),
  /** Until it ends. */
  recipe: StoredRecipeSchema.optional(),
  target: z.strictObject({ format: z.string(), extension: z.string() }),
  /** As parsed by `catalog/options`, without the password. */
  options: z.record(z.string(), z.unknown()),
  /** The password, encrypted with the service's key. */
  sealed: z.string().optional(),
  /** Claims so far: the fourth ends the job. */
  attempts: z.number().int(),
  /** How the last attempt to upload the output to the client's own bucket ended. */
  upload: UploadEnd.optional(),
  /** The message that its client wants at its end. */
  webhook: Webhook.optional(),
  /** Where its client wants the result stored. */
  destination: Destination.optional(),
  /** How often it gave way to jobs of other clients: each time it may run twice as long as before. */
  gaveWay: z.number().int().optional(),
  /** The holder's fencing token while running; the winner's at the end. */
  attempt: z.string().optional(),
  /** Tokens of earlier holders whose claims count because they fell silent: one that was only late withdraws its own. */
  lapsed: z.array(z.string()).optional(),
  engine: z.strictObject({ name: z.string(), version: z.string() }).optional(),
  warnings: z.array(Warning),
  /** What became of each property of the source. */
  fidelity: z.array(PropertyVerdict).readonly().optional(),
  output: StoredOutputSchema.optional(),
  /** The results of a recipe, once done: each is a part of `output`. */
  outputs: z.array(StoredPartSchema).optional(),
  failure: StoredFailureSchema.optional(),
});
