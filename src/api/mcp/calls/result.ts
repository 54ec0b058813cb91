/** A job as a call's answer: a sentence to read, the REST job as data, and a link to the output. */
import type { Failure } from '../../../errors.ts';
import type { JobRecord } from '../../../jobs/record.ts';
import { Missing } from '../../../objects/store.ts';
import type { ApiDeps } from '../../deps.ts';
import { problemOf } from '../../http/problem.ts';
import { failureOfJob, shown, textViewOf, viewOf } from '../../jobs/view.ts';
import { answersText, readText } from '../../outputs/text.ts';
import type { CallToolResult } from '../protocol/protocol.ts';
import { JOB_STATUS } from '../tools/list.ts';
import { beginningOf, cut, named, QUOTED_BYTES, quoted, visible } from './quote.ts';

/** @throws Failure `CONVERSION_FAILED`, `JOB_NOT_FOUND`, `JOB_EXPIRED` */
export async function resultOf(deps: ApiDeps, found: JobRecord | undefined, base: string): Promise<CallToolResult> {
  const record = shown(found, deps.clock());
  if (record.state === 'error') throw failureOfJob(record);
  if (record.state !== 'done') return processing(deps, record, base);
  return answersText(deps.catalog, record) ? textDone(deps, record, base) : fileDone(deps, record, base);
}

function processing({ signals }: ApiDeps, record: JobRecord, base: string): CallToolResult {
  const job = viewOf(record, base, signals.lastProgress(record.id));
  const far = job.progress === undefined ? '' : ` (${job.progress} %)`;
  const says = `Still processing${far}: call ${JOB_STATUS} with job_id ${record.id}. The result will be at ${job.links.output}, and stay until ${job.expires_at} or later.`;
  return { content: [{ type: 'text', text: says }], structuredContent: { ...job } };
}

async function fileDone({ objects }: ApiDeps, record: JobRecord, base: string): Promise<CallToolResult> {
  const job = viewOf(record, base);
  const { output } = job;
  if (output === undefined || record.output === undefined) throw new Error(`job ${record.id} is done without an output`);
  const about = `${output.size_human}, ${output.size_bytes} bytes; it can be downloaded until ${job.expires_at}; job_id ${record.id}`;
  const holds = output.files > 1 ? ` It holds ${output.files} files.` : '';
  const says = `Done: ${named(output.filename)} (${output.content_type}, ${about}): ${output.url}${holds}${warned(job.warnings)}`;
  const text = isText(output.content_type) ? await beginningOf(objects, record.output.key, output.size_bytes).catch(gone) : undefined;
  return {
    content: [
      { type: 'text', text: says },
      ...(text === undefined ? [] : [{ type: 'text' as const, text: quoted(text, output.size_bytes) }]),
      {
        type: 'resource_link',
        uri: output.url,
        name: output.filename,
        mimeType: output.content_type,
        size: output.size_bytes,
        description: `Result of job ${record.id}, to be downloaded until ${job.expires_at}`,
      },
    ],
    structuredContent: { ...job },
  };
}

async function textDone({ objects }: ApiDeps, record: JobRecord, base: string): Promise<CallToolResult> {
  if (record.output === undefined) throw new Error(`job ${record.id} is done without an output`);
  const answer = await readText(objects, record.output);
  const text = visible(cut(answer.text, QUOTED_BYTES));
  const job = textViewOf(record, base, undefined, { ...answer, text }) as Record<string, unknown>;
  const says = `Done: the text of ${named(record.filename)}; job_id ${record.id}.${warned(record.warnings)}`;
  return {
    content: [
      { type: 'text', text: says },
      { type: 'text', text: quoted(text, record.output.sizeBytes) },
    ],
    structuredContent: job,
  };
}

/** A failure that a model can correct or report: our code, and what is allowed instead. */
export function failed(failure: Failure, requestId: string): CallToolResult {
  const { error } = problemOf(failure, requestId);
  return { isError: true, content: [{ type: 'text', text: `${visible(error.message)}\n${JSON.stringify({ error })}` }] };
}

const warned = (warnings: JobRecord['warnings']): string =>
  warnings.length === 0 ? '' : `\nWarnings: ${warnings.map(({ message }) => visible(message)).join(' ')}`;

const isText = (type: string): boolean => /^text\/|^application\/(json|x-subrip|x-ndjson)\b/.test(type);

/** The output was deleted while it was read. */
function gone(error: unknown): undefined {
  if (!(error instanceof Missing)) throw error;
}
