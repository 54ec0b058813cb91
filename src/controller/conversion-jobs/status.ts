/** A ConversionJob's status from the API's answer about its job: pure. */

import type { Fidelity, Job } from '../../contracts/api/job.ts';
import type { ConversionJobStatus } from '../../contracts/kubernetes/conversion-job.ts';
import type { SubmissionAnswer } from '../../contracts/messages/submission.ts';
import { RETENTION_MS } from '../../jobs/lifecycle.ts';
import { type KubeCondition, setCondition } from '../../kube/conditions.ts';
import type { ConversionJobObject } from './resource.ts';

/** The schema's limit for a message, characters. */
const LONGEST_MESSAGE = 1_024;
/** The same for a receipt: properties, and characters of what one says. */
const [MOST_CHANGES, LONGEST_VALUE] = [64, 255];
const FETCHING = 'Fetching';

const PROCESSING = { reason: 'Processing', message: 'The file is waiting for a worker, or being converted.' } as const;

const UPLOADING = { reason: 'Uploading', message: 'The result is being uploaded.' } as const;

type Said = Pick<KubeCondition, 'status' | 'reason' | 'message'>;

/** What kstatus reads: in progress, failed, or current. */
const underWay = (reason: string, message: string) => ({
  Ready: { status: 'False', reason, message } as const,
  Reconciling: { status: 'True', reason, message } as const,
  Stalled: { status: 'False', reason, message } as const,
});
const over = (said: Omit<Said, 'status'>, well: boolean) => ({
  Ready: { ...said, status: well ? 'True' : 'False' } as const,
  Reconciling: { ...said, status: 'False' } as const,
  Stalled: { ...said, status: well ? 'False' : 'True' } as const,
});

/** @returns the new status; the old one if the answer has nothing new */
export function statusAfter(job: ConversionJobObject, answer: SubmissionAnswer, now: Date): ConversionJobStatus {
  const before = job.status ?? {};
  if ('data' in answer) return answer.data.status === 'done' ? complete(job, answer.data, now) : running(job, answer.data, now);
  if ('fetching' in answer) return pending(job, now, FETCHING, 'The source is being fetched.');
  if (!('error' in answer)) return before;
  const { code, message, details } = answer.error;
  if (!details.retryable) return failed(job, answer.error, now);
  // For an existing job a later answer will have its outcome.
  return before.jobId === undefined ? pending(job, now, code, message) : before;
}

/** It has not been submitted, or its source has not been fetched yet. @param reason one word */
export const pending = (job: ConversionJobObject, now: Date, reason: string, message: string): ConversionJobStatus => ({
  ...withConditions(job, now, { Complete: { status: 'False', reason, message }, ...underWay(reason, message) }),
  phase: 'Pending',
});

export const isFetchingSource = ({ status }: ConversionJobObject): boolean =>
  status?.conditions?.some(({ type, reason }) => type === 'Complete' && reason === FETCHING) === true;

function running(
  job: ConversionJobObject,
  { job_id, created_at, progress }: Job,
  now: Date,
  { reason, message }: Pick<Said, 'reason' | 'message'> = PROCESSING,
): ConversionJobStatus {
  return {
    ...withConditions(job, now, { Complete: { status: 'False', reason, message }, ...underWay(reason, message) }),
    phase: 'Running',
    jobId: job_id,
    startTime: seconds(created_at),
    ...(progress === undefined ? {} : { progress }),
  };
}

/** The job is done, and its result is being uploaded to a bucket. @param waits what delays the upload */
export function uploading(job: ConversionJobObject, result: Job, now: Date, waits?: Pick<Said, 'reason' | 'message'>): ConversionJobStatus {
  const said = waits ?? UPLOADING;
  const { upload } = job.status ?? {};
  const status = running(job, result, now, said);
  return {
    ...status,
    conditions: [...withConditions({ ...job, status }, now, { Uploaded: { status: 'False', ...said } }).conditions],
    ...(upload === undefined ? {} : { upload: { failures: upload.failures } }),
  };
}

/** @param again ms until the next attempt; undefined if there is none */
export function notUploaded(job: ConversionJobObject, result: Job, now: Date, why: string, again: number | undefined): ConversionJobStatus {
  const failures = (job.status?.upload?.failures ?? 0) + 1;
  const reason = 'UploadFailed';
  const message = `The result could not be uploaded: ${why.replace(/\.$/, '')}.`;
  if (again === undefined) {
    const given = `${message} The controller gave up after ${failures} attempts.`;
    const status = failed(job, { code: reason, message: given, details: { request_id: '', retryable: false } }, now);
    const { conditions } = withConditions({ ...job, status }, now, { Uploaded: { status: 'False', reason, message: given } });
    return { ...status, conditions: [...conditions], upload: { failures } };
  }
  const next = { failures, nextTime: seconds(new Date(now.getTime() + again)) };
  return { ...uploading(job, result, now, { reason, message }), upload: next };
}

/** The upload is complete. @param key of the object */
export function uploaded(job: ConversionJobObject, result: Job, now: Date, key: string): ConversionJobStatus {
  const { endpoint = '', bucket = '' } = job.spec.output?.s3 ?? {};
  const status = complete(job, result, now);
  const said: Said = { status: 'True', reason: 'Uploaded', message: `The result is in the bucket "${bucket}".` };
  const { conditions } = withConditions({ ...job, status }, now, { Uploaded: said });
  const { url: _, expiresAt: __, ...output } = status.output ?? { filename: '', sizeBytes: 0, contentType: '', sha256: '' };
  return { ...status, conditions: [...conditions], output: { ...output, s3: { endpoint, bucket, key } } };
}

function complete(
  job: ConversionJobObject,
  { job_id, created_at, expires_at, output, engine, warnings, fidelity }: Job,
  now: Date,
): ConversionJobStatus {
  // Without its URL: anyone who has that may download the file, and more people may read conditions and Events.
  const isUploaded = job.spec.output !== undefined;
  const fetched = isUploaded ? 'Done: the output was uploaded.' : 'Done: the output can be fetched.';
  const where = output === undefined ? 'Done: the text is in the job.' : fetched;
  const message = [where, ...warnings.map((warning) => warning.message)].join(' ');
  const status: ConversionJobStatus = {
    ...withConditions(job, now, { Complete: { status: 'True', reason: 'Done', message }, ...over({ reason: 'Done', message }, true) }),
    phase: 'Complete',
    jobId: job_id,
    startTime: seconds(created_at),
    completionTime: seconds(now),
    ...(engine === undefined ? {} : { engine }),
    ...(fidelity === undefined ? {} : { fidelity: receiptIn(fidelity) }),
  };
  if (output === undefined) return status;
  const { url, filename, size_bytes: sizeBytes, content_type: contentType, sha256 } = output;
  return { ...status, output: { url, filename, sizeBytes, contentType, sha256, expiresAt: seconds(expires_at) } };
}

/** Within the bounds of the schema: the receipt itself is in the API. */
const receiptIn = ({ kept, changes }: Fidelity): NonNullable<ConversionJobStatus['fidelity']> => ({
  kept,
  changes: changes.slice(0, MOST_CHANGES).flatMap(({ property, outcome, source, result }) =>
    outcome === 'kept'
      ? []
      : [
          {
            ...{ property, outcome },
            ...(source !== undefined && { source: source.slice(0, LONGEST_VALUE) }),
            ...(result !== undefined && { result: result.slice(0, LONGEST_VALUE) }),
          },
        ],
  ),
});

function failed(job: ConversionJobObject, { code, message, details }: Problem, now: Date): ConversionJobStatus {
  const { jobId, startTime } = job.status ?? {};
  const said: Said = { status: 'True', reason: code, message };
  const { reason } = details;
  const isGone = code === 'JOB_EXPIRED';
  // No job expires so soon: a holder of its id has deleted it. Later it is unknown whether it was done before.
  const isCancelled = isGone && startTime !== undefined && now.getTime() < Date.parse(startTime) + RETENTION_MS;
  // A result that should have been uploaded, and was not, is a failure.
  const hasExpired = isGone && !isCancelled && job.spec.output === undefined;
  return {
    ...withConditions(job, now, {
      Complete: { ...said, status: 'False' },
      Failed: said,
      ...(hasExpired ? { Expired: said } : {}),
      ...over(said, hasExpired),
    }),
    phase: isCancelled ? 'Cancelled' : hasExpired ? 'Expired' : 'Failed',
    ...(jobId === undefined ? {} : { jobId }),
    ...(startTime === undefined ? {} : { startTime }),
    completionTime: seconds(now),
    error: { code, message: message.slice(0, LONGEST_MESSAGE), ...(code === 'CONVERSION_FAILED' ? { reason: String(reason) } : {}) },
  };
}
type Problem = Extract<SubmissionAnswer, { error: unknown }>['error'];

/** It was complete, and its output has been removed. */
export function expired(job: ConversionJobObject, now: Date): ConversionJobStatus {
  const { output: _, ...kept } = job.status ?? {};
  const said: Said = { status: 'True', reason: 'JOB_EXPIRED', message: 'The job has expired and its files were deleted.' };
  return { ...kept, ...withConditions(job, now, { Expired: said }), phase: 'Expired' };
}

/** Whether the status has changed enough to write it: progress alone counts in steps of ten. */
export function isNews(before: ConversionJobStatus | undefined, after: ConversionJobStatus): boolean {
  const coarse = ({ progress, ...rest }: ConversionJobStatus) =>
    JSON.stringify({ ...rest, progress: progress === undefined ? undefined : Math.floor(progress / 10) }, sorted);
  return before === undefined || coarse(before) !== coarse(after);
}

function withConditions({ metadata: { generation = 0 }, status }: ConversionJobObject, now: Date, said: Readonly<Record<string, Said>>) {
  let conditions = (status?.conditions ?? []) as readonly KubeCondition[];
  for (const [type, { message, ...rest }] of Object.entries(said)) {
    const condition = { type, ...rest, message: message.slice(0, LONGEST_MESSAGE), observedGeneration: generation };
    conditions = setCondition(conditions, condition, now);
  }
  return { conditions: [...conditions], observedGeneration: generation };
}

/** The API server returns fields in its own order. */
const sorted = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

const seconds = (time: Date | string): string => `${new Date(time).toISOString().slice(0, 19)}Z`;
