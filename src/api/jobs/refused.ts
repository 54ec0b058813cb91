/** Jobs that failed before or after their conversion: from the reason in their record follows the error code that a request with this file alone would get. */

import { cleanName } from '../../catalog/names.ts';
import { type Code, Failure } from '../../errors.ts';
import { fail, newRecord, reasonOf } from '../../jobs/lifecycle.ts';
import type { JobRecord, StoredFailure } from '../../jobs/record.ts';
import { failureOfJob, mayPass } from './view.ts';

/** From the reason to the code. */
const REFUSED: Readonly<Record<string, Code>> = {
  unsupported_mime: 'UNSUPPORTED_MIME',
  no_file: 'NO_FILE',
  invalid_format: 'INVALID_FORMAT',
  invalid_option: 'INVALID_OPTION',
  url_refused: 'URL_REFUSED',
  file_too_large: 'FILE_TOO_LARGE',
  output_not_stored: 'OUTPUT_NOT_STORED',
};

/** @returns undefined for a code that refuses more than one file */
export function reasonFor({ code, details }: Pick<Failure, 'code' | 'details'>): string | undefined {
  // A file that is visibly damaged has a reason already.
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

/** @param about its name is the client's @returns a failed job, not stored yet, which no worker will look for */
export const refusedRecord = (
  id: string,
  now: number,
  {
    filename,
    warnings = [],
    ...about
  }: Pick<JobRecord, 'lane' | 'filename' | 'sources' | 'target'> &
    Partial<Pick<JobRecord, 'tool' | 'warnings' | 'webhook' | 'destination'>>,
  failure: StoredFailure,
): JobRecord => fail({ ...newRecord(id, now), pool: 'none', filename: cleanName(filename), options: {}, warnings, ...about }, now, failure);
