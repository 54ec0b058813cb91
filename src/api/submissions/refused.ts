/** A submission that was refused for good is kept as a failed job, so that every replica gives the same answer later. */
import { formatByExtension } from '../../catalog/formats.ts';
import type { Submission } from '../../contracts/messages/submission.ts';
import { type Code, errorTable, Failure } from '../../errors.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { reasonFor, refusedRecord } from '../jobs/refused.ts';
import { failureOfJob } from '../jobs/view.ts';

export function refusedSubmission(
  id: string,
  now: number,
  { filename = '', toFormat = '' }: Pick<Submission, 'filename' | 'toFormat'>,
  { code, message, details }: Failure,
): JobRecord {
  const extension = toFormat.replace(/^\./, '').slice(0, 16);
  const about = {
    lane: 'interactive' as const,
    filename,
    sources: [{ part: 0, sizeBytes: 0, format: 'unknown' }],
    target: { format: formatByExtension(extension)?.id ?? extension, extension },
  };
  return refusedRecord(id, now, about, {
    reason: reasonFor({ code, details }) ?? 'internal',
    message,
    details: { ...details, refused: code },
  });
}

/** The failure of a job in state `error`: its submission was refused, or its conversion failed. Final: the same resource has this one job. */
export function failureOfSubmitted(record: JobRecord): Failure {
  const { refused, ...details } = record.failure?.details ?? {};
  if (!isCode(refused)) {
    const { code, message, details: told } = failureOfJob(record);
    return new Failure(code, { says: message, details: told, retryable: false });
  }
  return new Failure(refused, { says: record.failure?.message ?? '', details: { ...details, job_id: record.id }, retryable: false });
}

const isCode = (value: unknown): value is Code => typeof value === 'string' && Object.hasOwn(errorTable, value);
