/** The records of a batch's jobs, one for each file; a file that cannot be converted gets the record of a failed job. */
import { formatByExtension } from '../../catalog/formats.ts';
import { cleanName } from '../../catalog/names.ts';
import { Failure } from '../../errors.ts';
import { fail, newRecord } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { inputKey } from '../../objects/keys.ts';
import type { ApiDeps } from '../deps.ts';
import { noFile, onlyFile, type Received, type ReceivedFile } from '../intake/receive.ts';
import { reasonFor } from '../jobs/refused.ts';
import { type ConversionRequest, readRequestOptions, targetOf, validateConversion } from './conversion.ts';
import { draftOf } from './fetching.ts';
import type { Ids, SubmitWork } from './stages.ts';

/** Several files to one format, each a separate job. */
export function batchWork(deps: ApiDeps, { jobOf }: Ids, maxFiles: number): SubmitWork {
  const checkCount = (received: Counted) => refuseCount(received, maxFiles);
  return {
    check(fields, count) {
      readBatchOptions({ fields });
      if (count !== undefined) checkCount({ count, fields: new Map() });
    },
    jobsOf(brought) {
      checkCount(brought);
      return 'urls' in brought ? brought.urls.map((_, part) => jobOf(part)) : brought.files.map(({ part }) => jobOf(part));
    },
    async validate({ fields, files }) {
      const requestOptions = readBatchOptions({ fields });
      const records: JobRecord[] = [];
      // One after the other: the same order as the files.
      for (const file of files) records.push(await recordOf(deps, jobOf(file.part), file, requestOptions));
      return records;
    },
    draft({ fields, urls }) {
      const requestOptions = readBatchOptions({ fields });
      const known = { lane: requestOptions.lane, target: targetOf(requestOptions) };
      return urls.map((url, part) => {
        const id = jobOf(part);
        return {
          record: draftOf(id, deps.clock(), [url], known),
          field: 'url',
          urls: [url],
          // The file of the batch's nth job is stored as its only one.
          keyOf: () => inputKey(id),
          validate: (files) => validateConversion(deps, id, onlyFile({ fields: new Map(), files, count: files.length }), requestOptions),
        };
      });
    },
  };
}

/** @throws Failure `INVALID_FORMAT`, `INVALID_OPTION` */
function readBatchOptions({ fields }: Pick<Received, 'fields'>): ConversionRequest {
  const requestOptions = readRequestOptions(fields, 'bulk');
  const { extension } = requestOptions;
  if (formatByExtension(extension) !== undefined) return requestOptions;
  throw new Failure('INVALID_FORMAT', { details: { to_format: extension, targets: [] } });
}

type Counted = Pick<Received, 'count' | 'fields'> & Partial<Pick<Received, 'strays' | 'contentType'>>;

/** @throws Failure `NO_FILE`, `BATCH_TOO_LARGE` */
function refuseCount(received: Counted, max: number): void {
  const { count } = received;
  if (count === 0) throw noFile(received, 'files[]', `up to ${max}`);
  if (count <= max) return;
  const says = `A batch may have at most ${max} files; ${count} were sent.`;
  throw new Failure('BATCH_TOO_LARGE', { says, details: { max_files: max, received_files: count } });
}

async function recordOf(deps: ApiDeps, id: string, file: ReceivedFile, requestOptions: ConversionRequest): Promise<JobRecord> {
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
  { extension, lane, warnings }: ConversionRequest,
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
