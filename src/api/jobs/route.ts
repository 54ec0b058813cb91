/** `GET` and `DELETE /api/v1/jobs/{id}`, and `GET …/fidelity`: a job's state, its cancellation, and its receipt. */
import type { FastifyInstance } from 'fastify';
import { jobIdPattern } from '../../contracts/api/job.ts';
import { Failure } from '../../errors.ts';
import type { ApiDeps } from '../deps.ts';
import { cancelJob } from './cancel.ts';
import { findJob } from './found.ts';
import { RETRY_AFTER, sendJob } from './send.ts';
import { failureOfJob, shown } from './view.ts';

export function jobRoutes(app: FastifyInstance, deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>): void {
  app.get<{ Params: { id: string } }>('/api/v1/jobs/:id', async (request, reply) =>
    sendJob(deps, request, reply, await findJob(deps, request.params.id)),
  );

  app.get<{ Params: { id: string } }>('/api/v1/jobs/:id/fidelity', async (request, reply) => {
    const record = shown(await findJob(deps, request.params.id), deps.jobs.clock());
    if (record.state === 'error') throw failureOfJob(record);
    if (record.state !== 'done') {
      reply.header('retry-after', RETRY_AFTER);
      throw new Failure('JOB_NOT_READY', { details: { job_id: record.id } });
    }
    return { data: { job_id: record.id, properties: record.fidelity ?? [] } };
  });

  app.delete<{ Params: { id: string } }>('/api/v1/jobs/:id', async (request, reply) => {
    const { id } = request.params;
    if (!jobIdPattern.test(id)) throw new Failure('JOB_NOT_FOUND');
    await cancelJob(deps, id);
    return reply.code(204).send();
  });
}
