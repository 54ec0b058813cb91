/** A batch as clients see it: one job for each file, in the order sent. */
import { z } from 'zod';
import { Job, JobLinks, JobOutput, OutputDestination, Warning, Webhook } from './job.ts';

const count = z.number().int().min(0);

export const BatchEntry = z.object({
  filename: z.string(),
  to_format: z.string().optional().describe('The target, in lower case'),
  job_id: Job.shape.job_id,
  status: Job.shape.status,
  progress: Job.shape.progress,
  output: JobOutput.optional(),
  links: JobLinks,
  warnings: z.array(Warning),
  destination: OutputDestination.optional(),
  webhook: Webhook.optional(),
  error: z
    .object({ code: z.string(), message: z.string(), details: z.looseObject({}) })
    .optional()
    .describe('Why this file failed: the error that a request for it alone would get'),
});

export const Batch = z.object({
  batch_id: z.string().regex(/^bat_[0-9a-f]{16}$/),
  overall_status: z.enum(['processing', 'done', 'failed']).describe('`done` if every job is, `failed` if one is not'),
  counts: z.object({ total: count, processing: count, done: count, failed: count }),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().describe('When the last of its jobs is removed'),
  links: JobLinks.describe('`output` is a ZIP of all results'),
  jobs: z.array(BatchEntry),
});
