/** The records of a batch's jobs, one for each file; a file that cannot be converted gets the record of a failed job. */
import { formatByExtension } from '../../catalog/formats.ts';
import { cleanName } from '../../catalog/names.ts';
import { Failure } from '../../errors.ts';
import { fail, newRecord } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { ApiDeps } from '../deps.ts';
import type { Received, ReceivedFile } from '../intake/receive.ts';
import { type Counted, noFile } from '../intake/refusals.ts';
import { reasonFor } from '../jobs/refused.ts';
import { type ConversionRequest, conversionPlan, readRequestOptions } from './conversion.ts';
import type { Ids, Sent, SubmitWork } from './stages.ts';
import { targetsIn, withTarget } from './targets.ts';

/** Several files to one format or more, each pair a separate job. The source has each file once for each target (`targets.ts`). */
export function batchWork(deps: ApiDeps, { jobOf }: Ids, maxJobs: number): SubmitWork {
  const check = (sent: Sent): readonly ConversionRequest[] => {
    const targets = targetsIn(sent.fields.get('to_format'));
    refuseCount({ count: 1, ...sent }, targets.length, maxJobs);
    return targets.map((target) => readBatchOptions(withTarget(sent.fields, target)));
  };
  return {
    check,
    plan(brought) {
      const requests = check(brought);
      return brought.files.map((file, at) => {
        const id = jobOf(file.part);
        const requestOptions = requests[at % requests.length];
        if (requestOptions === undefined) throw new Error('a batch without a target');
        const refused = async ([sent]: readonly ReceivedFile[], error: unknown) =>
          refusedRecord(deps.clock(), id, sent, requestOptions, error);
        return { ...conversionPlan(deps, id, [file], requestOptions), refused };
      });
    },
  };
}

/** @throws Failure `INVALID_FORMAT`, `INVALID_OPTION` */
function readBatchOptions(fields: Received['fields']): ConversionRequest {
  const requestOptions = readRequestOptions(fields, 'bulk');
  const { extension } = requestOptions;
  if (formatByExtension(extension) !== undefined) return requestOptions;
  throw new Failure('INVALID_FORMAT', { details: { to_format: extension, targets: [] } });
}

/** @throws Failure `NO_FILE`, `BATCH_TOO_LARGE` */
function refuseCount(sent: Counted, targets: number, max: number): void {
  const { count } = sent;
  if (count === 0) throw noFile(sent, 'files[]', `up to ${max}`);
  if (count * targets <= max) return;
  const says =
    targets === 1
      ? `A batch may have at most ${max} files; ${count} were sent.`
      : `A batch may have at most ${max} conversions; ${count} files to ${targets} formats are ${count * targets}.`;
  throw new Failure('BATCH_TOO_LARGE', { says, details: { max_files: max, received_files: count * targets } });
}

/** @throws the error, where it refuses the batch: an option is the same for all files */
function refusedRecord(
  now: number,
  id: string,
  file: ReceivedFile | undefined,
  { extension, lane, warnings }: ConversionRequest,
  error: unknown,
): JobRecord {
  const reason = error instanceof Failure && error.code !== 'INVALID_OPTION' ? reasonFor(error) : undefined;
  if (!(error instanceof Failure) || reason === undefined || file === undefined) throw error;
  const { part, sizeBytes, filename } = file;
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
  return fail(record, now, { reason, message: error.message, details: error.details });
}
