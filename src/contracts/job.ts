/** A job as clients see it: the `data` of every answer that speaks of one. */
import { z } from 'zod';

export const jobIdPattern = /^[0-9a-f]{32}$/;

export const JobOutput = z.object({
  filename: z.string(),
  size_bytes: z.number().int(),
  size_human: z.string().describe('1024-based, one decimal'),
  url: z.url(),
  content_type: z.string(),
  files: z.number().int().describe('How many files the output holds: more than one in a ZIP'),
  sha256: z.string(),
});

export const JobLinks = z.object({ self: z.url(), output: z.url() });

export const Job = z.object({
  job_id: z.string().regex(jobIdPattern),
  status: z.enum(['processing', 'done', 'error']),
  progress: z.number().int().min(0).max(99).optional().describe('Per cent; absent where the engine reports none'),
  output: JobOutput.optional(),
  links: JobLinks,
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
  warnings: z.array(z.object({ code: z.string(), message: z.string() })),
  engine: z.object({ name: z.string(), version: z.string() }).optional(),
});
export type Job = z.infer<typeof Job>;
