/** The jobs of a batch: one for each file, and one that has failed already for each file that nothing can be made of. */

import { formatByExtension } from '../catalog/formats.ts';
import { cleanName } from '../catalog/names.ts';
import { Failure } from '../errors.ts';
import { fail, newRecord } from '../jobs/lifecycle.ts';
import type { JobRecord } from '../jobs/record.ts';
import { reasonFor } from './batch-view.ts';
import { cancelJob } from './cancel.ts';
import { enqueue } from './enqueue.ts';
import { deleteInputs } from './inputs.ts';
import type { ApiParts } from './parts.ts';
import type { ReceivedFile } from './receive.ts';
import { conversionOf, type Wish } from './submit.ts';

/** All of them or none. @throws Failure `OVERLOADED`, `INVALID_OPTION` */
export async function batchJobs(
  parts: ApiParts,
  ids: readonly string[],
  files: readonly ReceivedFile[],
  wish: Wish,
): Promise<readonly JobRecord[]> {
  const records = files.map((file, index) => recordOf(parts, ids[index] ?? '', file, wish));
  const made: JobRecord[] = [];
  try {
    for (const record of records) {
      if (record.state === 'queued') made.push(await enqueue(parts, record));
      else {
        await parts.jobs.create(record);
        await deleteInputs(parts.objects, record);
        made.push(record);
      }
    }
  } catch (error) {
    for (const { id } of made) await cancelJob(parts, id);
    throw error;
  }
  return made;
}

function recordOf(parts: ApiParts, id: string, file: ReceivedFile, wish: Wish): JobRecord {
  try {
    if (file.sizeBytes === 0) throw new Failure('NO_FILE', { says: 'The file is empty.' });
    return conversionOf(parts, id, file, wish);
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
