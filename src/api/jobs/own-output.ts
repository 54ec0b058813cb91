/** An output of this service as a file of a new job: read from the store. */
import { Failure, fileTooLarge } from '../../errors.ts';
import type { StoredOutput } from '../../jobs/record.ts';
import { Missing, TooLarge } from '../../objects/store.ts';
import type { ApiDeps } from '../deps.ts';
import type { ReceivedFile } from '../intake/receive.ts';
import { storeSampled } from '../intake/store-sampled.ts';
import { answersText } from './text.ts';
import { failureOfJob, shown, whenDone } from './view.ts';

/** @throws Failure as its URL would answer */
export async function outputOf({ jobs, catalogue }: Pick<ApiDeps, 'jobs' | 'catalogue'>, job: string): Promise<StoredOutput> {
  const record = shown((await jobs.store.get(job))?.record, jobs.clock());
  if (record.state === 'error') throw failureOfJob(record);
  if (answersText(catalogue.current, record))
    throw new Failure('NOT_FOUND', { says: 'This job has no output file: its text is in the job.' });
  const { output } = whenDone(record);
  if (output === undefined) throw new Failure('JOB_NOT_READY', { details: { job_id: job } });
  return output;
}

/** Copies an output to where a new job's file is stored. @throws Failure as `outputOf`, `FILE_TOO_LARGE` */
export async function fromOutput(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>,
  job: string,
  part: number,
  key: string,
  signal: AbortSignal,
): Promise<ReceivedFile> {
  const { objects } = deps.files;
  const { settings } = deps.service;
  const output = await outputOf(deps, job);
  try {
    const content = await objects.get(output.key);
    try {
      return { part, filename: output.filename, ...(await storeSampled(content, key, objects, settings.maxFileBytes, signal)) };
    } finally {
      content.destroy();
    }
  } catch (error) {
    if (error instanceof Missing) throw new Failure('JOB_EXPIRED', { cause: error });
    throw error instanceof TooLarge ? fileTooLarge(settings.maxFileBytes, error.receivedBytes) : error;
  }
}
