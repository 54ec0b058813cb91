/** Answers with a job as it is now: the envelope, a failure's problem, or that it has expired. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasEnded } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { ApiDeps } from '../deps.ts';
import { baseUrl } from '../http/base-url.ts';
import { problemOf } from '../http/problem.ts';
import { longTextOf } from './long-text.ts';
import { hasText, readText } from './text.ts';
import { destinationOf, failureOfJob, linksOf, shown, viewWithText, webhookOf, whenDone } from './view.ts';

/** When to poll again, seconds. */
export const RETRY_AFTER = '1';

export const baseOf = (request: FastifyRequest, { service: { settings } }: Pick<ApiDeps, 'service'>): string =>
  baseUrl(settings, request.raw, settings.port);

/** @throws Failure `JOB_NOT_FOUND`, `JOB_EXPIRED` */
export async function sendJob(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>,
  request: FastifyRequest,
  reply: FastifyReply,
  found: JobRecord | undefined,
): Promise<FastifyReply> {
  const record = shown(found, deps.jobs.clock());
  const base = baseOf(request, deps);
  const text = record.state === 'done' ? await longTextOf(deps, base, record) : undefined;
  if (text !== undefined) return reply.type('application/json; charset=utf-8').send(text);
  // Before any header is set: a refusal must not carry the job's headers.
  const body = await bodyOf(deps, base, request.id, record);
  if (!hasEnded(record)) reply.header('location', linksOf(base, record.id).self).header('retry-after', RETRY_AFTER);
  return reply.code(record.state === 'error' ? failureOfJob(record).status : 200).send(body);
}

/** A job that may be shown, in its envelope: `data`, and `error` where it failed. */
export async function bodyOf(
  { jobs, files: { objects, suffix }, catalogue }: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue'>,
  base: string,
  requestId: string,
  record: JobRecord,
): Promise<object> {
  if (record.state === 'error') {
    const data = { job_id: record.id, status: 'error', links: linksOf(base, record.id), ...destinationOf(record), ...webhookOf(record) };
    return { ...problemOf(failureOfJob(record), requestId), data };
  }
  const catalog = catalogue.current;
  const progress = jobs.signals.lastProgress(record.id);
  const { output } = whenDone(record);
  const answer = output !== undefined && hasText(catalog, record) ? await readText(objects, output) : undefined;
  return { data: viewWithText(catalog, record, { base, suffix, progress }, answer) };
}
