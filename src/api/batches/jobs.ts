/** The jobs of a batch: one for each file, and one that has failed already for each file that nothing can be made of. */

import { formatByExtension } from '../../catalog/formats.ts';
import { cleanName } from '../../catalog/names.ts';
import { Failure } from '../../errors.ts';
import { fail, newRecord } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { ApiDeps } from '../deps.ts';
import { deleteInputs } from '../intake/inputs.ts';
import type { ReceivedFile } from '../intake/receive.ts';
import { conversionOf, type RequestOptions } from '../jobs/conversion.ts';
import { enqueueAll } from '../jobs/enqueue.ts';
import { reasonFor } from './view.ts';

/**
 * All of them or none.
 * @param client whose share of the pools they count towards
 * @param claim runs when all records are there, and no order is
 * @throws Failure `OVERLOADED`, `INVALID_OPTION`, and what `claim` throws
 */
export async function batchJobs(
  deps: ApiDeps,
  ids: readonly string[],
  files: readonly ReceivedFile[],
  requestOptions: RequestOptions,
  client: string,
  claim: () => Promise<void>,
): Promise<readonly JobRecord[]> {
  const records: JobRecord[] = [];
  for (const [index, file] of files.entries()) records.push(await recordOf(deps, ids[index] ?? '', file, requestOptions));
  const placed = await enqueueAll(deps, records, client, claim);
  // Upkeep does it too, later.
  for (const record of placed) if (record.state !== 'queued') await deleteInputs(deps.objects, record).catch(() => undefined);
  return placed;
}

async function recordOf(deps: ApiDeps, id: string, file: ReceivedFile, requestOptions: RequestOptions): Promise<JobRecord> {
  try {
    if (file.sizeBytes === 0) throw new Failure('NO_FILE', { says: 'The file is empty.' });
    return await conversionOf(deps, id, file, requestOptions);
  } catch (error) {
    const reason = error instanceof Failure ? reasonFor(error.code) : undefined;
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
    // Nobody takes it from there: it has ended.
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
