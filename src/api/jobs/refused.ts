/** Jobs whose files were refused before any conversion: the reason in their record stands for the code that the file alone would have got. */
import { type Code, Failure } from '../../errors.ts';
import { reasonOf } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { failureOfJob, mayPass } from './view.ts';

/** From the reason to the code. */
const REFUSED: Readonly<Record<string, Code>> = {
  unsupported_mime: 'UNSUPPORTED_MIME',
  no_file: 'NO_FILE',
  invalid_format: 'INVALID_FORMAT',
  invalid_option: 'INVALID_OPTION',
  url_refused: 'URL_REFUSED',
  file_too_large: 'FILE_TOO_LARGE',
};

/** @returns undefined for a code that refuses more than one file */
export function reasonFor({ code, details }: Pick<Failure, 'code' | 'details'>): string | undefined {
  // A file that is damaged to be seen says so itself.
  if (code === 'CONVERSION_FAILED' && typeof details['reason'] === 'string') return details['reason'];
  return Object.keys(REFUSED).find((reason) => REFUSED[reason] === code);
}

/** Why a job failed, as its own answer would say it. */
export function errorOf(record: JobRecord): Failure | undefined {
  if (record.state !== 'error' || record.failure === undefined) return undefined;
  const code = REFUSED[reasonOf(record.failure)];
  const { message, details } = record.failure;
  if (code === undefined) return failureOfJob(record);
  return new Failure(code, { says: message, details: { ...details, job_id: record.id }, retryable: mayPass(record) });
}
