/** How objects are named: the job's id first, so that a job's files are found and removed together. */

/** @param part number of the file in the form it came in, from 0 on */
export const inputKey = (jobId: string, part = 0): string => `jobs/${jobId}/input-${part}`;

/** Each attempt writes under its own key: a losing one can neither overwrite nor be mistaken for the winner. */
export const outputKey = (jobId: string, attempt: string): string => `jobs/${jobId}/output-${attempt}`;

export const JOBS_PREFIX = 'jobs/';

/** The job that an object belongs to. */
export const jobOfKey = (key: string): string | undefined => /^jobs\/([0-9a-f]{32})\//.exec(key)?.[1];

/** What all keys of a job begin with. */
export const jobKeys = (jobId: string): string => `${JOBS_PREFIX}${jobId}/`;
