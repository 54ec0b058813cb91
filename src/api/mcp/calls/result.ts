/** A job as a call's answer: a sentence to read, the REST job as data, and a link to the output. */
import { nearTargets } from '../../../catalog/routes/near-targets.ts';
import { Failure } from '../../../errors.ts';
import type { JobRecord, StoredOutput } from '../../../jobs/record.ts';
import { Missing, type ObjectStore } from '../../../objects/store.ts';
import type { ApiDeps } from '../../deps.ts';
import { problemOf } from '../../http/problem.ts';
import { answersText, measureText } from '../../jobs/text.ts';
import { failureOfJob, shown, textViewOf, viewOf } from '../../jobs/view.ts';
import type { CallToolResult } from '../protocol/protocol.ts';
import { JOB_STATUS } from '../tools/list.ts';
import { inQuotes, quoted, readPart, type TextPart, visible } from './quote.ts';

/** What a call asks of an answer beyond the job. */
export interface Wishes {
  /** A text result is read from this byte on; undefined: its beginning. */
  readonly textFrom?: number | undefined;
  /** A resulting picture is part of the answer. */
  readonly image?: boolean | undefined;
}

/** How much of a text result is shown, bytes: in the first answer, and in a later one. */
const FIRST_BYTES = 8 * 1024;
const MORE_BYTES = 16 * 1024;

/** Largest picture in an answer, bytes: in base64, clients take somewhat less than 1 MB. */
const MAX_IMAGE_BYTES = 512 * 1024;
/** What models can look at. */
const IMAGES: readonly string[] = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];

/** @throws Failure `CONVERSION_FAILED`, `JOB_NOT_FOUND`, `JOB_EXPIRED`, `INVALID_OPTION` */
export async function resultOf(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue'>,
  found: JobRecord | undefined,
  base: string,
  wishes: Wishes = {},
): Promise<CallToolResult> {
  const record = shown(found, deps.jobs.clock());
  if (record.state === 'error') throw failureOfJob(record);
  if (record.state !== 'done') return processing(deps, record, base);
  return answersText(deps.catalogue.current, record) ? textDone(deps, record, base, wishes) : fileDone(deps, record, base, wishes);
}

function processing(
  { jobs: { signals }, files: { suffix } }: Pick<ApiDeps, 'jobs' | 'files'>,
  record: JobRecord,
  base: string,
): CallToolResult {
  const job = viewOf(record, { base, suffix, progress: signals.lastProgress(record.id) });
  const far = job.progress === undefined ? '' : ` (${job.progress} %)`;
  const says = `Still processing${far}: call ${JOB_STATUS} with job_id ${record.id}. The result will be at ${job.links.output}, and stay until ${job.expires_at} or later.`;
  return { content: [{ type: 'text', text: says }], structuredContent: { ...job } };
}

async function fileDone(
  { files: { objects, suffix } }: Pick<ApiDeps, 'files'>,
  record: JobRecord,
  base: string,
  wishes: Wishes,
): Promise<CallToolResult> {
  const job = viewOf(record, { base, suffix });
  const { output } = job;
  if (output === undefined || record.output === undefined) throw new Error(`job ${record.id} is done without an output`);
  const about = `${output.size_human}, ${output.size_bytes} bytes; it can be downloaded until ${job.expires_at}; job_id ${record.id}`;
  const holds = output.files > 1 ? ` It holds ${output.files} files.` : '';
  const part = isTextType(output.content_type) ? await partOf(objects, record.output, wishes).catch(gone) : undefined;
  const image = wishes.image && IMAGES.includes(output.content_type) ? await imageOf(objects, record.output).catch(gone) : undefined;
  const unseen = wishes.image && image === undefined ? ` The answer does not show it: ${whyUnseen(output.content_type)}.` : '';
  const each = (job.outputs ?? []).length > 1 ? job.outputs?.map(({ name, url }) => `\n${name}: ${url}`).join('') : '';
  const says = `Done: ${inQuotes(output.filename)} (${output.content_type}, ${about}): ${output.url}${holds}${each}${unseen}${warned(job.warnings)}${goesOn(record, part)}`;
  return {
    content: [
      { type: 'text', text: says },
      ...(part === undefined ? [] : [{ type: 'text' as const, text: quoted(part) }]),
      ...(image === undefined ? [] : [image]),
      {
        type: 'resource_link',
        uri: output.url,
        name: output.filename,
        mimeType: output.content_type,
        size: output.size_bytes,
        description: `Result of job ${record.id}, to be downloaded until ${job.expires_at}`,
      },
    ],
    structuredContent: { ...job, ...structured(part) },
  };
}

async function textDone(
  { files: { objects, suffix } }: Pick<ApiDeps, 'files'>,
  record: JobRecord,
  base: string,
  wishes: Wishes,
): Promise<CallToolResult> {
  if (record.output === undefined) throw new Error(`job ${record.id} is done without an output`);
  const part = await partOf(objects, record.output, wishes).catch((error: unknown) => {
    throw error instanceof Missing ? new Failure('JOB_EXPIRED', { cause: error }) : error;
  });
  const { pages } = await measureText(objects, record.output);
  const job = textViewOf(record, { base, suffix }, { text: part.text, pages, cut: false });
  const says = `Done: the text of ${inQuotes(record.filename)}; job_id ${record.id}.${warned(record.warnings)}${goesOn(record, part)}`;
  return {
    content: [
      { type: 'text', text: says },
      { type: 'text', text: quoted(part) },
    ],
    structuredContent: { ...job, ...structured(part) },
  };
}

/** @throws Failure `INVALID_OPTION` · Missing */
async function partOf(objects: ObjectStore, output: StoredOutput, { textFrom }: Wishes): Promise<TextPart> {
  if (textFrom === undefined) return readPart(objects, output, 0, FIRST_BYTES);
  if (textFrom <= output.sizeBytes) return readPart(objects, output, textFrom, MORE_BYTES);
  const allowed = `integer, 0 to ${output.sizeBytes}, the size of the text in bytes`;
  const says = `The argument text_offset is "${textFrom}"; expected ${allowed}.`;
  throw new Failure('INVALID_OPTION', { says, details: { option: 'text_offset', received: String(textFrom), allowed } });
}

/** Some clients give the model only these fields. */
const structured = (part: TextPart | undefined): object =>
  part === undefined ? {} : { text: part.text, ...(part.to < part.sizeBytes ? { next_text_offset: part.to } : {}) };

const goesOn = ({ id }: JobRecord, part: TextPart | undefined): string =>
  part === undefined || part.to >= part.sizeBytes
    ? ''
    : `\nThe text goes on: for more, call ${JOB_STATUS} with job_id ${id} and text_offset ${part.to}.`;

/** @returns undefined where it is too large @throws Missing */
async function imageOf(objects: ObjectStore, { key, sizeBytes, contentType }: StoredOutput) {
  if (sizeBytes > MAX_IMAGE_BYTES) return undefined;
  const chunks: Buffer[] = [];
  for await (const chunk of (await objects.get(key)) as AsyncIterable<Buffer>) chunks.push(chunk);
  return { type: 'image' as const, data: Buffer.concat(chunks).toString('base64'), mimeType: contentType };
}

const whyUnseen = (type: string): string =>
  IMAGES.includes(type)
    ? `it is larger than ${MAX_IMAGE_BYTES / 1024} KB, so resize or compress it first`
    : 'only PNG, JPEG, WebP and GIF can be shown';

/** Targets that a refusal lists: a model needs no more to choose one. */
const MOST_TARGETS = 5;

/** A failure that a model can correct or report: a sentence, then our code and what is allowed instead. */
export function failed(failure: Failure, requestId: string): CallToolResult {
  const { code, message, details } = problemOf(failure, requestId).error;
  const error = { code, details: withFewTargets(details) };
  return { isError: true, content: [{ type: 'text', text: `${visible(message)}\n${JSON.stringify({ error })}` }] };
}

function withFewTargets(details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { targets, to_format: asked } = details;
  if (!Array.isArray(targets) || targets.length <= MOST_TARGETS) return details;
  const near = nearTargets(targets.map(String), String(asked ?? ''), MOST_TARGETS);
  return { ...details, targets: near, more_targets: targets.length - near.length };
}

const warned = (warnings: JobRecord['warnings']): string =>
  warnings.length === 0 ? '' : `\nWarnings: ${warnings.map(({ message }) => visible(message)).join(' ')}`;

export const isTextType = (type: string): boolean => /^text\/|^application\/(json|x-subrip|x-ndjson)\b/.test(type);

/** The output was deleted while it was read. */
function gone(error: unknown): undefined {
  if (!(error instanceof Missing)) throw error;
}
