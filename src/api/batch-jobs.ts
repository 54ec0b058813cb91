/** The jobs of a batch: one for each file, and one that has failed already for each file that nothing can be made of. */

import { formatByExtension } from '../catalog/formats.ts';
import { cleanName } from '../catalog/names.ts';
import { Failure } from '../errors.ts';
import { fail, newRecord } from '../jobs/lifecycle.ts';
import type { JobRecord } from '../jobs/record.ts';
import { reasonFor } from './batch-view.ts';
import { enqueueAll } from './enqueue.ts';
import { deleteInputs } from './inputs.ts';
import type { ApiParts } from './parts.ts';
import type { ReceivedFile } from './receive.ts';
import { conversionOf, type Wish } from './submit.ts';

/**
 * All of them or none.
 * @param client whose share of the pools they count towards
 * @param claim runs when all records are there, and no order is
 * @throws Failure `OVERLOADED`, `INVALID_OPTION`, and what `claim` throws
 */
export async function batchJobs(
  parts: ApiParts,
  ids: readonly string[],
  files: readonly ReceivedFile[],
  wish: Wish,
  client: string,
  claim: () => Promise<void>,
): Promise<readonly JobRecord[]> {
  const records: JobRecord[] = [];
  for (const [index, file] of files.entries()) records.push(await recordOf(parts, ids[index] ?? '', file, wish));
  const placed = await enqueueAll(parts, records, client, claim);
  // Upkeep does it too, later.
  for (const record of placed) if (record.state !== 'queued') await deleteInputs(parts.objects, record).catch(() => undefined);
  return placed;
}

async function recordOf(parts: ApiParts, id: string, file: ReceivedFile, wish: Wish): Promise<JobRecord> {
  try {
    if (file.sizeBytes === 0) throw new Failure('NO_FILE', { says: 'The file is empty.' });
    return await conversionOf(parts, id, file, wish);
  } catch (error) {
    const reason = error instanceof Failure ? reasonFor(error.code) : undefined;
    if (!(error instanceof Failure) || reason === undefined) throw error;
    return failedRecord(id, parts.clock(), file, wish, { reason, message: error.message, details: error.details });
  }
}

function failedRecord(
  id: string,
  now: number,
  { part, sizeBytes, filename }: ReceivedFile,
  { extension, lane, warnings }: Wish,
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
