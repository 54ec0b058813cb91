/** Answers with a job as it is now: the envelope, a failure's problem, or word that it is gone. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JobRecord } from '../jobs/record.ts';
import { baseUrl } from './base-url.ts';
import type { ApiParts } from './parts.ts';
import { problemOf } from './problem.ts';
import { failureOfJob, linksOf, shown, viewOf } from './view.ts';

/** When to ask again, seconds. */
export const RETRY_AFTER = '1';

export const baseOf = (request: FastifyRequest, { settings }: Pick<ApiParts, 'settings'>): string =>
  baseUrl(settings, request.headers.host, request.raw.socket.localPort ?? settings.port);

/** @throws Failure `JOB_NOT_FOUND`, `JOB_EXPIRED` */
export function sendJob(parts: ApiParts, request: FastifyRequest, reply: FastifyReply, found: JobRecord | undefined): FastifyReply {
  const record = shown(found, parts.clock());
  const base = baseOf(request, parts);
  if (record.state === 'error') {
    const failure = failureOfJob(record);
    const data = { job_id: record.id, status: 'error', links: linksOf(base, record.id) };
    return reply.code(failure.status).send({ ...problemOf(failure, request.id), data });
  }
  const job = viewOf(record, base, parts.signals.lastProgress(record.id));
  if (job.status === 'processing') reply.header('location', job.links.self).header('retry-after', RETRY_AFTER);
  return reply.send({ data: job });
}
