/** How the controller hands ConversionJobs to the API: questions over NATS that any replica answers, and that may be asked again at any time. */
import { z } from 'zod';
import { Job } from '../api/job.ts';
import { Problem } from '../api/problem.ts';

/** Raised when an older replica would misread a question: it then says so, and a newer one may be asked. */
export const SUBMISSION_VERSION = 1;

/** What each question is asked under. */
export const submissionSubjects = { convert: 'submit.convert', look: 'submit.look', cancel: 'submit.cancel' } as const;
export type SubmissionQuestion = keyof typeof submissionSubjects;

/** Which resource is meant: its job's id follows from this, and from a secret of the API. */
export const Submitted = z.object({
  version: z.number().int().min(1),
  /** `metadata.uid`: never used for another resource. */
  uid: z.string().regex(/^[A-Za-z0-9-]{1,64}$/),
  /** The client that limits count, and whose imports may be named. */
  namespace: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/),
});
export type Submitted = z.infer<typeof Submitted>;

export const Submission = Submitted.extend({
  source: z.union([z.strictObject({ url: z.string().min(1).max(8_192) }), z.strictObject({ key: z.string().min(1).max(1_024) })]),
  toFormat: z.string().optional(),
  /** Slug of a tool. */
  tool: z.string().optional(),
  /** By the names of REST's form. */
  options: z
    .record(z.string().max(200), z.string().max(65_536))
    .refine((options) => Object.keys(options).length <= 100, 'at most 100 options')
    .default({}),
  /** As the source is to be called; else as it is called where it comes from. */
  filename: z.string().max(1_000).optional(),
}).refine(({ toFormat, tool }) => (toFormat === undefined) !== (tool === undefined), 'one of toFormat and tool');
export type Submission = z.infer<typeof Submission>;

export const SubmissionAnswer = z.union([
  /** The source is still on its way: ask again. */
  z.object({ fetching: z.literal(true) }),
  /** There is no job, or there is none any more. */
  z.object({ cancelled: z.literal(true) }),
  /** As REST shows the job; of one that answers with a text neither text nor output. */
  z.object({ data: Job }),
  /** As REST refuses, or tells of a failure. */
  z.object({ error: Problem.shape.error, retry_after: z.number().optional().describe('When the same may succeed, seconds') }),
]);
export type SubmissionAnswer = z.infer<typeof SubmissionAnswer>;
