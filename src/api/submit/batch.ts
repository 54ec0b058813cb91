/** The records of a batch's jobs, one for each file; a file that cannot be converted gets the record of a failed job. */
import { formatByExtension } from '../../catalog/formats.ts';
import { cleanName } from '../../catalog/names.ts';
import { Failure } from '../../errors.ts';
import { fail, newRecord } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { ApiDeps } from '../deps.ts';
import type { ReceivedFile } from '../intake/receive.ts';
import { reasonFor } from '../jobs/refused.ts';
import { type RequestOptions, validateConversion } from './conversion.ts';

/** @returns the records, in the order of the files, none of them stored yet @throws Failure `OVERLOADED`, `INVALID_OPTION` */
export async function validateBatch(
  deps: ApiDeps,
  ids: readonly string[],
  files: readonly ReceivedFile[],
  requestOptions: RequestOptions,
): Promise<readonly JobRecord[]> {
  const records: JobRecord[] = [];
  for (const [index, file] of files.entries()) records.push(await recordOf(deps, ids[index] ?? '', file, requestOptions));
  return records;
}

async function recordOf(deps: ApiDeps, id: string, file: ReceivedFile, requestOptions: RequestOptions): Promise<JobRecord> {
  try {
    if (file.sizeBytes === 0) throw new Failure('NO_FILE', { says: 'The file is empty.' });
    return await validateConversion(deps, id, file, requestOptions);
  } catch (error) {
    // An option is the same for all files: it refuses the batch.
    const reason = error instanceof Failure && error.code !== 'INVALID_OPTION' ? reasonFor(error.code) : undefined;
    if (!(error instanceof Failure) || reason === undefined) throw error;
    return failedRecord(id, deps.clock(), file, requestOptions, { reason, message: error.message, details: error.details });
  }
}

function failedRecord(
  id: string,
  now: number,
  { part, sizeBytes, filename }: ReceivedFile,
  { extension, lane, warnings }: RequestOptions,
  failure: NonNullable<JobRecord['failure']>,
): JobRecord {
  const record: JobRecord = {
    ...newRecord(id, now),
    // It has ended: no worker will look for it.
    pool: 'none',
    lane,
    filename: cleanName(filename),
    sources: [{ part, sizeBytes, format: 'unknown' }],
    target: { format: formatByExtension(extension)?.id ?? extension, extension },
    options: {},
    warnings,
  };
  return fail(record, now, failure);
}
