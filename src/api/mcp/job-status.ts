/** `get_job_status`: how an earlier job stands, waited for as long as the caller likes. */
import { jobIdPattern } from '../../contracts/job.ts';
import { Failure } from '../../errors.ts';
import type { ApiParts } from '../parts.ts';
import { waitForEnd } from '../wait.ts';
import type { CallPlace } from './job-call.ts';
import type { CallToolResult, ToolCall } from './protocol.ts';
import { resultOf } from './result.ts';

const MOST_SECONDS = 25;
const PRESET_SECONDS = 20;

/** @throws Failure `INVALID_OPTION`, `JOB_NOT_FOUND`, `JOB_EXPIRED`, `CONVERSION_FAILED` */
export async function jobStatus(parts: ApiParts, { args, signal }: ToolCall, { base, dueAt }: CallPlace): Promise<CallToolResult> {
  const id = typeof args['job_id'] === 'string' ? args['job_id'].trim() : '';
  const seconds = readSeconds(args['wait_seconds']);
  // Malformed is unknown: the same answer, and nothing is looked for.
  if (!jobIdPattern.test(id)) throw new Failure('JOB_NOT_FOUND');
  const waitMs = Math.max(0, Math.min(seconds * 1_000, dueAt - performance.now()));
  const record = await waitForEnd(parts.jobs, id, waitMs, AbortSignal.any([signal, parts.stopping]));
  return resultOf(parts, record, base);
}

function readSeconds(sent: unknown): number {
  if (sent === undefined || sent === null || sent === '') return PRESET_SECONDS;
  const seconds = typeof sent === 'string' && /^\d{1,3}$/.test(sent.trim()) ? Number(sent) : sent;
  if (typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= 0 && seconds <= MOST_SECONDS) return seconds;
  const allowed = `integer, 0 to ${MOST_SECONDS} s`;
  const received = String(sent).slice(0, 100);
  throw new Failure('INVALID_OPTION', {
    says: `The argument wait_seconds takes ${allowed}.`,
    details: { option: 'wait_seconds', received, allowed },
  });
}
