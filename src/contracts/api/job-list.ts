/** What `GET /api/v1/jobs?ids=…` answers: an entry for each id. */
import { z } from 'zod';
import { Job } from './job.ts';

/** Ids in one request. */
export const MOST_IDS = 100;

export const JobEntry = Job.omit({ text: true })
  .partial()
  .extend({
    job_id: z.string().describe('As it was sent'),
    status: Job.shape.status.describe('`error` also for a job that is unknown or has expired'),
    filename: z.string().optional().describe('The file that was sent'),
    error: z
      .object({ code: z.string(), message: z.string(), details: z.looseObject({}) })
      .optional()
      .describe('Why the job failed, or why there is no such job: the error that `GET /api/v1/jobs/{job_id}` would answer with'),
  });
export type JobEntry = z.infer<typeof JobEntry>;

export const JobList = z.object({ jobs: z.array(JobEntry).describe('In the order of the ids') });
