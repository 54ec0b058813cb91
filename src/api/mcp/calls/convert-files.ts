/** `convert_files`: a batch as in REST, and its answer: what became of each file, and one ZIP of all results. */
import { hasEnded } from '../../../jobs/lifecycle.ts';
import type { JobRecord } from '../../../jobs/record.ts';
import { newBatch } from '../../batches/route.ts';
import { batchViewOf } from '../../batches/view.ts';
import type { ApiDeps } from '../../deps.ts';
import { type FoundBatch, findBatch } from '../../jobs/found.ts';
import { errorOf } from '../../jobs/refused.ts';
import { waitForEnd } from '../../jobs/wait.ts';
import { batchWork } from '../../submit/batch.ts';
import { type ClientWait, type Ids, type SubmitSource, type SubmitWork, wholeBatch } from '../../submit/stages.ts';
import { submit } from '../../submit/submit.ts';
import { forEachTarget, targetsIn } from '../../submit/targets.ts';
import type { CallToolResult, ToolCall } from '../protocol/protocol.ts';
import type { CallContext } from '../protocol/served.ts';
import { JOB_STATUS } from '../tools/list.ts';
import { mcpTools } from '../tools/tools.ts';
import { filesIn, readCall, readOptionsObject } from './arguments.ts';
import { admittedBefore, advised, assumedOf, callSource, callWait, withWarnings } from './job-call.ts';
import { inQuotes, visible } from './quote.ts';

/** @throws Failure as `POST /api/v1/batch` answers */
export async function convertFiles(deps: ApiDeps, call: ToolCall, context: CallContext): Promise<CallToolResult> {
  const { base, requestId } = context;
  const ids = newBatch(deps, context.id);
  const onEnd: ClientWait['onEnd'] = (ended, all) => call.progress?.(Math.floor((100 * ended) / (all + 1)), `${ended} of ${all} files.`);
  try {
    call.progress?.(0, 'Reading the call.');
    return await submit(deps, {
      ids,
      wait: { ...callWait(call, context), onEnd },
      admit: () => admittedBefore(context),
      open: () => openBatch(deps, ids, call, context),
      answer: (submitted) => batchResult(deps, wholeBatch(submitted), base, requestId),
    });
  } catch (error) {
    throw advised(error, base);
  }
}

/** @throws Failure `INVALID_OPTION`, `BAD_REQUEST` */
function openBatch(deps: ApiDeps, ids: Ids, call: ToolCall, context: CallContext): { source: SubmitSource; work: SubmitWork } {
  const args = readBatchArguments(call);
  const work = batchWork(deps, ids, deps.service.settings.maxBatchFiles);
  const times = targetsIn(args.fields.get('to_format')).length;
  // Each file has the name that it has at its source.
  const source = callSource(deps, ids, { args, filename: '', call, context });
  return {
    source: forEachTarget(deps, ids, source),
    work: withWarnings(work, (index) => {
      const [named] = source.named().slice(Math.floor(index / times));
      return [...args.warnings, ...(named === undefined ? [] : assumedOf(named))];
    }),
  };
}

/** The options of a conversion, beside the files or in `options`. */
function readBatchArguments(call: ToolCall) {
  const { options, filename: _, ...rest } = call.args;
  const { files, others } = filesIn(rest);
  const [conversion] = mcpTools;
  if (conversion === undefined) throw new Error('there is no conversion among the tools');
  const read = readCall({ ...conversion, files: 'several' }, { ...others, ...readOptionsObject(options), files });
  for (const name of Object.keys(call.args)) delete call.args[name];
  return read;
}

/** A batch after a wait for the jobs that have not ended. @throws Failure `JOB_NOT_FOUND`, `JOB_EXPIRED` */
export async function batchStatus(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'service'>,
  id: string,
  waitMs: number,
  signal: AbortSignal,
  { base, requestId }: CallContext,
): Promise<CallToolResult> {
  const { batch, records } = await findBatch(deps, id);
  const due = performance.now() + waitMs;
  const over = AbortSignal.any([signal, deps.service.stopping]);
  const latest: JobRecord[] = [];
  for (const record of records)
    latest.push(
      hasEnded(record) ? record : ((await waitForEnd(deps.jobs.store, record.id, Math.max(0, due - performance.now()), over)) ?? record),
    );
  return batchResult(deps, { batch, records: latest }, base, requestId);
}

interface BatchView {
  readonly overall_status: 'processing' | 'done' | 'failed';
  readonly counts: { readonly total: number; readonly done: number; readonly processing: number; readonly failed: number };
  readonly links: { readonly output: string };
  readonly expires_at: string;
}

/** @throws Failure `JOB_EXPIRED` */
function batchResult(
  { jobs: { signals, clock }, files: { suffix } }: Pick<ApiDeps, 'jobs' | 'files'>,
  { batch, records }: FoundBatch,
  base: string,
  requestId: string,
): CallToolResult {
  const view = batchViewOf(batch, records, { base, suffix }, clock(), signals.lastProgress, requestId) as BatchView;
  const { counts, links, overall_status } = view;
  const failed = records.flatMap((record) => {
    const error = errorOf(record);
    return error === undefined ? [] : [`\n${inQuotes(record.filename)}: ${visible(error.message)}`];
  });
  const structuredContent = { ...view };
  if (overall_status === 'processing') {
    const says = `Still processing: ${counts.done} of ${counts.total} files are done. Call ${JOB_STATUS} with job_id ${batch.id}.${failed.join('')}`;
    return { content: [{ type: 'text', text: says }], structuredContent };
  }
  if (counts.done === 0) {
    const says = `No file could be converted; batch_id ${batch.id}.${failed.join('')}`;
    return { isError: true, content: [{ type: 'text', text: says }], structuredContent };
  }
  const warnings = [...new Set(records.flatMap((record) => record.warnings.map(({ message }) => visible(message))))];
  const warned = warnings.length === 0 ? '' : `\nWarnings: ${warnings.slice(0, 10).join(' ')}`;
  const says = `Done: ${counts.done} of ${counts.total} files. One ZIP of all results: ${links.output}; it can be downloaded until ${view.expires_at}; batch_id ${batch.id}.${failed.join('')}${warned}`;
  const name = `${batch.id}-filemill.zip`;
  return {
    content: [
      { type: 'text', text: says },
      { type: 'resource_link', uri: links.output, name, mimeType: 'application/zip', description: `Results of batch ${batch.id}` },
    ],
    structuredContent,
  };
}
