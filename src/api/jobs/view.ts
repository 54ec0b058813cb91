/** A job's record as clients see it. */
import type { Catalog } from '../../catalog/catalog.ts';
import { nameWithoutSuffix } from '../../catalog/names.ts';
import type { Job } from '../../contracts/api/job.ts';
import { conversionFailed, Failure } from '../../errors.ts';
import { reasonOf, visibility } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { answersText, MAX_TEXT_BYTES, type TextAnswer } from './text.ts';

export interface Links {
  readonly self: string;
  readonly output: string;
}

export const linksOf = (base: string, id: string): Links => ({
  self: `${base}/api/v1/jobs/${id}`,
  output: `${base}/api/v1/jobs/${id}/output`,
});

/** @param progress percent, if any is known */
export function viewOf(record: JobRecord, base: string, progress?: number): Job {
  const links = linksOf(base, record.id);
  const status = record.state === 'done' ? 'done' : record.state === 'error' ? 'error' : 'processing';
  const { output } = record;
  return {
    job_id: record.id,
    status,
    ...(status === 'processing' && record.state === 'running' && progress !== undefined ? { progress } : {}),
    ...(output === undefined
      ? {}
      : {
          output: {
            filename: output.filename,
            save_as: nameWithoutSuffix(output.filename),
            size_bytes: output.sizeBytes,
            size_human: humanSize(output.sizeBytes),
            url: links.output,
            content_type: output.contentType,
            files: output.files,
            sha256: output.sha256,
          },
        }),
    links,
    created_at: new Date(record.createdAt).toISOString(),
    expires_at: new Date(record.expiresAt).toISOString(),
    warnings: record.warnings,
    ...(record.fidelity === undefined ? {} : { fidelity: inShort(record.fidelity) }),
    ...(record.engine === undefined ? {} : { engine: record.engine }),
  };
}

/** What is kept is counted: of it there is most, and least to say. */
const inShort = (verdicts: NonNullable<JobRecord['fidelity']>): Job['fidelity'] => ({
  kept: verdicts.filter(({ outcome }) => outcome === 'kept').length,
  changes: verdicts.filter(({ outcome }) => outcome !== 'kept'),
});

/** A job whose result is a text: the text is part of the job, and there is no output. @param answer undefined until the job is done */
export function textViewOf(record: JobRecord, base: string, progress?: number, answer?: TextAnswer): object {
  const { output: _, ...job } = viewOf(record, base, progress);
  if (answer === undefined) return job;
  const { text, pages, cut } = answer;
  return { ...job, text, language: record.tool?.input['ocr_lang'], pages, warnings: withCut(job.warnings, cut) };
}

/** A job with its text, where it has one: in place of its output, or beside it. @param answer undefined until the job is done, and where it has no text */
export function viewWithText(
  catalog: Pick<Catalog, 'tools'>,
  record: JobRecord,
  base: string,
  progress?: number,
  answer?: TextAnswer,
): object {
  if (answersText(catalog, record)) return textViewOf(record, base, progress, answer);
  const job = viewOf(record, base, progress);
  return answer === undefined ? job : { ...job, text: answer.text, warnings: withCut(job.warnings, answer.cut) };
}

const TEXT_CUT = { code: 'text_cut', message: `The text is longer than ${MAX_TEXT_BYTES} bytes: only its beginning is included.` };
const withCut = (warnings: Job['warnings'], cut: boolean): Job['warnings'] => [...warnings, ...(cut ? [TEXT_CUT] : [])];

/** A record that may be shown. @throws Failure `JOB_NOT_FOUND`, `JOB_EXPIRED` */
export function shown(record: JobRecord | undefined, now: number): JobRecord {
  const seen = record === undefined ? 'forgotten' : visibility(record, now);
  if (record === undefined || seen === 'forgotten') throw new Failure('JOB_NOT_FOUND');
  if (seen === 'expired') throw goneFailure(record);
  return record;
}

/** Why a job that was there is shown no more: a client's own doing is said to be that. */
export function goneFailure({ state, output }: JobRecord): Failure {
  if (state !== 'cancelled') return new Failure('JOB_EXPIRED');
  const says =
    output === undefined
      ? 'The job was cancelled at a client’s request, and its files were deleted.'
      : 'The job and its files were deleted at a client’s request.';
  return new Failure('JOB_EXPIRED', { says, details: { reason: output === undefined ? 'cancelled' : 'deleted' } });
}

/** Why a job in state `error` failed, as clients read it: `INVALID_OPTION` where an option asked for what the file does not have. */
export function failureOfJob(record: JobRecord): Failure {
  const stored = record.failure ?? { reason: 'internal', message: '', details: {} };
  if (reasonOf(stored) === 'invalid_option')
    return new Failure('INVALID_OPTION', { says: stored.message, details: { ...stored.details, job_id: record.id } });
  const engine = record.engine?.name;
  return conversionFailed(reasonOf(stored), {
    ...(stored.message === '' ? {} : { says: stored.message }),
    details: {
      ...stored.details,
      // The job's own reason takes its place.
      ...(stored.reason === 'url_refused' ? { url_reason: stored.details['reason'] } : {}),
      job_id: record.id,
      ...(engine === undefined ? {} : { engine }),
    },
    retryable: mayPass(record),
  });
}

/** Whether the same request may succeed later. Undefined: as its code says. */
export const mayPass = ({ failure }: JobRecord): boolean | undefined => (failure?.details['retryable'] === true ? true : undefined);

/** 1024-based, one decimal. */
export function humanSize(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB'];
  let size = bytes;
  let unit = 0;
  // 1023.95 would be shown as 1024.0: the next unit is used instead.
  while (size >= 1023.95 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return unit === 0 ? `${bytes} B` : `${size.toFixed(1)} ${units[unit]}`;
}
