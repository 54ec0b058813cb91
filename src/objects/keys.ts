/** The keys of jobs' objects: the job's id first, so that a job's files are found and removed together. */

/** @param part index of the file in its form, from 0 */
export const inputKey = (jobId: string, part = 0): string => `jobs/${jobId}/input-${part}`;

/** Each attempt has its own key: a lost attempt can neither overwrite the winner's output nor be mistaken for it. */
export const outputKey = (jobId: string, attempt: string): string => `jobs/${jobId}/output-${attempt}`;

export const JOBS_PREFIX = 'jobs/';

/** The job that an object belongs to. */
export const jobOfKey = (key: string): string | undefined => /^jobs\/([0-9a-f]{32})\//.exec(key)?.[1];

/** The prefix of all keys of a job. */
export const jobKeys = (jobId: string): string => `${JOBS_PREFIX}${jobId}/`;
