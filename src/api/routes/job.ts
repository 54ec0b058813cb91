/** `GET` and `DELETE /api/v1/jobs/{id}`: how a job stands, and its end by its owner's wish. */
import type { FastifyInstance } from 'fastify';
import { jobIdPattern } from '../../contracts/job.ts';
import { Failure } from '../../errors.ts';
import { cancel, hasEnded, visibility } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { Conflict } from '../../jobs/store.ts';
import { inputKey } from '../../objects/keys.ts';
import type { ApiParts } from '../parts.ts';
import { sendJob } from '../send-job.ts';

const CAS_TRIES = 10;

export function jobRoutes(app: FastifyInstance, parts: ApiParts): void {
  app.get<{ Params: { id: string } }>('/api/v1/jobs/:id', async (request, reply) =>
    sendJob(parts, request, reply, await findJob(parts, request.params.id)),
  );

  app.delete<{ Params: { id: string } }>('/api/v1/jobs/:id', async (request, reply) => {
    await cancelJob(parts, request.params.id);
    return reply.code(204).send();
  });
}

/** A malformed id is one that does not exist. */
export async function findJob({ jobs }: Pick<ApiParts, 'jobs'>, id: string): Promise<JobRecord | undefined> {
  return jobIdPattern.test(id) ? (await jobs.get(id))?.record : undefined;
}

/** Ends the job, whatever it is doing, and removes its files. Again and again is no error while the tombstone lives. */
async function cancelJob({ jobs, queue, objects, signals, clock }: ApiParts, id: string): Promise<void> {
  for (let tries = 0; tries < CAS_TRIES; tries++) {
    const stored = jobIdPattern.test(id) ? await jobs.get(id) : undefined;
    if (stored === undefined || visibility(stored.record, clock()) === 'forgotten') throw new Failure('JOB_NOT_FOUND');
    const { record, revision } = stored;
    if (record.state === 'cancelled') return;
    try {
      await jobs.update(cancel(record, clock()), revision);
    } catch (error) {
      if (error instanceof Conflict) continue;
      throw error;
    }
    signals.cancel(id);
    signals.ended(id);
    if (!hasEnded(record)) await queue.remove(record.pool, id);
    await objects.delete(inputKey(id));
    if (record.output !== undefined) await objects.delete(record.output.key);
    return;
  }
  throw new Error(`the record of ${id} could not be written in ${CAS_TRIES} tries`);
}
