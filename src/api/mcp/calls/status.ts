/** `get_job_status` and `cancel_job`: an earlier job or batch, by its id. */
import { jobIdPattern } from '../../../contracts/api/job.ts';
import { asText } from '../../../contracts/json.ts';
import { Failure } from '../../../errors.ts';
import { batchIdPattern } from '../../../jobs/batch.ts';
import { cancelBatch } from '../../batches/route.ts';
import type { ApiDeps } from '../../deps.ts';
import { cancelJob } from '../../jobs/cancel.ts';
import { waitForEnd } from '../../jobs/wait.ts';
import type { CallToolResult, ToolCall } from '../protocol/protocol.ts';
import type { CallContext } from '../protocol/served.ts';
import { INCLUDE, readFlag } from './arguments.ts';
import { batchStatus } from './convert-files.ts';
import { resultOf } from './result.ts';

/** A wait that the caller chooses. */
const MOST_SECONDS = 25;
const PRESET_SECONDS = 20;
/** No result is as large, bytes. */
const MOST_OFFSET = 1_000_000_000;

/** @throws Failure `INVALID_OPTION`, `JOB_NOT_FOUND`, `JOB_EXPIRED`, `CONVERSION_FAILED` */
export async function jobStatus(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>,
  { args, signal }: ToolCall,
  context: CallContext,
): Promise<CallToolResult> {
  const seconds = readInteger(args, 'wait_seconds', MOST_SECONDS, `integer, 0 to ${MOST_SECONDS} s`) ?? PRESET_SECONDS;
  const textFrom = readInteger(args, 'text_offset', MOST_OFFSET, 'integer, the next_text_offset of an earlier answer');
  const image = readFlag(args, INCLUDE);
  const id = readId(args);
  const waitMs = Math.max(0, Math.min(seconds * 1_000, context.dueAt - performance.now()));
  if (batchIdPattern.test(id)) return batchStatus(deps, id, waitMs, signal, context);
  const record = await waitForEnd(deps.jobs.store, id, waitMs, AbortSignal.any([signal, deps.service.stopping]));
  return resultOf(deps, record, context.base, { textFrom, image });
}

/** @throws Failure `JOB_NOT_FOUND` */
export async function cancelCall(deps: Pick<ApiDeps, 'jobs' | 'files'>, { args }: ToolCall): Promise<CallToolResult> {
  const id = readId(args);
  if (batchIdPattern.test(id)) await cancelBatch(deps, id);
  else await cancelJob(deps, id);
  return {
    content: [{ type: 'text', text: `Cancelled: ${id} is stopped, and its files are deleted.` }],
    structuredContent: { cancelled: true },
  };
}

/** A malformed id gets the same answer as an unknown one. @throws Failure `JOB_NOT_FOUND` */
function readId(args: ToolCall['args']): string {
  const sent = args['job_id'] ?? args['batch_id'];
  const id = typeof sent === 'string' ? sent.trim() : '';
  if (jobIdPattern.test(id) || batchIdPattern.test(id)) return id;
  throw new Failure('JOB_NOT_FOUND');
}

/** @throws Failure `INVALID_OPTION` */
function readInteger(args: ToolCall['args'], option: string, most: number, allowed: string): number | undefined {
  const sent = args[option];
  if (sent === undefined || sent === null || sent === '') return undefined;
  const read = typeof sent === 'string' && /^\d{1,10}$/.test(sent.trim()) ? Number(sent) : sent;
  if (typeof read === 'number' && Number.isInteger(read) && read >= 0 && read <= most) return read;
  const received = asText(sent).slice(0, 100);
  throw new Failure('INVALID_OPTION', {
    says: `The argument ${option} is "${received}"; expected ${allowed}.`,
    details: { option, received, allowed },
  });
}
