/** A job's record as clients see it. */
import type { Catalog } from '../../catalog/catalog.ts';
import { shortReceipt } from '../../catalog/fidelity/words.ts';
import { nameWithoutSuffix } from '../../catalog/names.ts';
import type { Job } from '../../contracts/api/job.ts';
import { conversionFailed, Failure } from '../../errors.ts';
import { reasonOf, visibility } from '../../jobs/lifecycle.ts';
import type { JobRecord, StoredPart } from '../../jobs/record.ts';
import { answersText, MAX_TEXT_BYTES, type TextAnswer } from './text.ts';

export interface Links {
  readonly self: string;
  readonly output: string;
}

export const linksOf = (base: string, id: string): Links => ({
  self: `${base}/api/v1/jobs/${id}`,
  output: `${base}/api/v1/jobs/${id}/output`,
});

/** The name of the source, with the extension of the output: people see no suffix. */
export const nameToSave = (source: string, output: string, suffix: string): string =>
  nameWithoutSuffix(source, output.slice(output.lastIndexOf('.') + 1), suffix);

/** What a view of a job says beside its record. */
export interface Beside {
  /** What its links begin with. */
  readonly base: string;
  /** The operator's, of the names of outputs. */
  readonly suffix: string;
  /** Percent, if any is known. */
  readonly progress?: number | undefined;
}

export function viewOf(record: JobRecord, { base, suffix, progress }: Beside): Job {
  const links = linksOf(base, record.id);
  const status = record.state === 'done' ? 'done' : record.state === 'error' ? 'error' : 'processing';
  const { output, outputs } = whenDone(record);
  return {
    job_id: record.id,
    status,
    ...(status === 'processing' && record.state === 'running' && progress !== undefined ? { progress } : {}),
    ...(output === undefined
      ? {}
      : {
          output: {
            filename: output.filename,
            save_as: nameToSave(record.filename, output.filename, suffix),
            size_bytes: output.sizeBytes,
            size_human: humanSize(output.sizeBytes),
            url: links.output,
            content_type: output.contentType,
            files: output.files,
            sha256: output.sha256,
          },
        }),
    ...(outputs === undefined ? {} : { outputs: outputs.map((part) => outputView(part, links)) }),
    links,
    created_at: new Date(record.createdAt).toISOString(),
    expires_at: new Date(record.expiresAt).toISOString(),
    warnings: record.warnings,
    ...(record.fidelity === undefined ? {} : { fidelity: shortReceipt(record.fidelity) }),
    ...(record.engine === undefined ? {} : { engine: record.engine }),
    ...destinationOf(record),
    ...webhookOf(record),
  };
}

/** What was made, once the job is done: until then it may still be on its way to where its client wants it. */
export const whenDone = ({ state, output, outputs }: JobRecord): Pick<JobRecord, 'output' | 'outputs'> =>
  state === 'done' ? { output, outputs } : {};

const outputView = ({ name, filename, sizeBytes, contentType, files, sha256 }: StoredPart, { self }: Links) => ({
  name,
  filename,
  size_bytes: sizeBytes,
  url: `${self}/outputs/${name}`,
  content_type: contentType,
  files,
  sha256,
});

/** How far the result is on its way to where the client wants it; never where that is. */
export function destinationOf({ destination }: JobRecord): Pick<Job, 'destination'> {
  if (destination === undefined) return {};
  const { state, attempts, lastStatus, lastError } = destination;
  const last = {
    ...(lastStatus === undefined ? {} : { last_status: lastStatus }),
    ...(lastError === undefined ? {} : { last_error: lastError }),
  };
  return { destination: { state, attempts, ...last } };
}

/** What has become of the message at the job's end, where one was asked for; never where it goes. */
export function webhookOf({ webhook }: JobRecord): Pick<Job, 'webhook'> {
  if (webhook === undefined) return {};
  const { state, attempts, lastStatus, lastError } = webhook;
  const last = {
    ...(lastStatus === undefined ? {} : { last_status: lastStatus }),
    ...(lastError === undefined ? {} : { last_error: lastError }),
  };
  return { webhook: { state, attempts, ...last } };
}

/** A job whose result is a text: the text is part of the job, and there is no output. @param answer undefined until the job is done */
export function textViewOf(record: JobRecord, beside: Beside, answer?: TextAnswer): object {
  const { output: _, ...job } = viewOf(record, beside);
  if (answer === undefined) return job;
  const { text, pages, cut } = answer;
  return { ...job, text, language: record.tool?.input['ocr_lang'], pages, warnings: withCut(job.warnings, cut) };
}

/** A job with its text, where it has one: in place of its output, or beside it. @param answer undefined until the job is done, and where it has no text */
export function viewWithText(catalog: Pick<Catalog, 'tools'>, record: JobRecord, beside: Beside, answer?: TextAnswer): object {
  if (answersText(catalog, record)) return textViewOf(record, beside, answer);
  const job = viewOf(record, beside);
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

/** Why a job can no longer be shown: it has expired, or a client has cancelled or deleted it. */
export function goneFailure({ state, output }: JobRecord): Failure {
  if (state !== 'cancelled') return new Failure('JOB_EXPIRED');
  const says =
    output === undefined
      ? 'The job was cancelled at a client’s request, and its files were deleted.'
      : 'The job and its files were deleted at a client’s request.';
  return new Failure('JOB_EXPIRED', { says, details: { reason: output === undefined ? 'cancelled' : 'deleted' } });
}

/** Why a job in state `error` failed, as clients read it: `INVALID_OPTION` where an option asked for what the file does not have, `OUTPUT_NOT_STORED` where only its result did not get to its place. */
export function failureOfJob(record: JobRecord): Failure {
  const stored = record.failure ?? { reason: 'internal', message: '', details: {} };
  if (reasonOf(stored) === 'invalid_option')
    return new Failure('INVALID_OPTION', { says: stored.message, details: { ...stored.details, job_id: record.id } });
  if (reasonOf(stored) === 'output_not_stored')
    return new Failure('OUTPUT_NOT_STORED', {
      says: stored.message,
      details: { ...stored.details, job_id: record.id },
      retryable: mayPass(record),
    });
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
