/** How REST answers a request for one job: most clients need only this one answer. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiDeps } from '../deps.ts';
import { applied, prefersAsync } from '../http/preferences.ts';
import { baseOf, sendJob } from '../jobs/send.ts';
import { answersText } from '../jobs/text.ts';
import { linksOf } from '../jobs/view.ts';
import { onlyRecord, type SubmittedJobs } from './stages.ts';

/** With the job, or with a redirect to its output where `?download=1`, or another yes, asks for that. */
export const jobAnswer =
  (deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>, request: FastifyRequest, reply: FastifyReply) =>
  async (submitted: SubmittedJobs): Promise<FastifyReply> => {
    noteSubmission(request, reply, submitted);
    const record = onlyRecord(submitted);
    const { download } = request.query as { readonly download?: unknown };
    if (record.state === 'done' && isYes(download) && !answersText(deps.catalogue.current, record))
      return reply.redirect(linksOf(baseOf(request, deps), record.id).output, 303);
    return sendJob(deps, request, reply, record);
  };

/** In headers: that the client was not kept waiting, and that its `Idempotency-Key` led to what an earlier request created. */
export function noteSubmission(request: FastifyRequest, reply: FastifyReply, { isReplayed }: SubmittedJobs): void {
  if (prefersAsync(request)) applied(reply, 'respond-async');
  if (isReplayed) reply.header('idempotency-replayed', 'true');
}

const isYes = (value: unknown): boolean => typeof value === 'string' && ['1', 'true', 'on', 'yes'].includes(value.trim().toLowerCase());
