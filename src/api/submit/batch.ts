/** The jobs of a batch, one for each file; a file that cannot be converted fails its job alone. */
import { formatByExtension } from '../../catalog/formats.ts';
import { Failure } from '../../errors.ts';
import type { Received } from '../intake/receive.ts';
import { type Counted, noFile } from '../intake/refusals.ts';
import { type ConversionRequest, conversionPlan, readRequestOptions, type ValidationDeps } from './conversion.ts';
import { type Ids, jobIdOf, type SentFields, type SubmitWork } from './stages.ts';
import { targetsIn, withTarget } from './targets.ts';

/** Several files to one format or more, each pair a separate job. The source has each file once for each target (`targets.ts`). */
export function batchWork(deps: ValidationDeps, ids: Ids, maxJobs: number): SubmitWork {
  const check = (sent: SentFields): readonly ConversionRequest[] => {
    const targets = targetsIn(sent.fields.get('to_format'));
    refuseCount({ count: 1, ...sent }, targets.length, maxJobs);
    return targets.map((target) => readBatchOptions(withTarget(sent.fields, target)));
  };
  return {
    check,
    plan(brought) {
      const requests = check(brought);
      return brought.files.map((file, at) => {
        const requestOptions = requests[at % requests.length];
        if (requestOptions === undefined) throw new Error('a batch without a target');
        return { ...conversionPlan(deps, jobIdOf(ids, file.part), [file], requestOptions), failsAlone: true };
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
