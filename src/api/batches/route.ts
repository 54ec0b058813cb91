/** `POST /api/v1/batch` and `…/batches/{id}`: up to twenty files to one format, each a separate job. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { hasEnded } from '../../jobs/lifecycle.ts';
import type { ApiDeps } from '../deps.ts';
import { FIELDS_OF_SEVERAL } from '../intake/receive.ts';
import { cancelJob } from '../jobs/cancel.ts';
import { type FoundBatch, findBatch } from '../jobs/found.ts';
import { baseOf, RETRY_AFTER } from '../jobs/send.ts';
import type { Sends } from '../outputs/deleted.ts';
import { contentDisposition, HARMLESS } from '../outputs/route.ts';
import { noteSubmission } from '../submit/answer.ts';
import { batchWork } from '../submit/batch.ts';
import { poolsOfAll } from '../submit/capacity.ts';
import { CONVERSION_FIELDS, handledAsPreferred } from '../submit/conversion.ts';
import type { Fetches } from '../submit/fetches.ts';
import { formSource } from '../submit/form.ts';
import { admitRequest } from '../submit/idempotency.ts';
import { type Ids, oneBatch, wholeBatch } from '../submit/stages.ts';
import { submit } from '../submit/submit.ts';
import { forEachTarget } from '../submit/targets.ts';
import { restWait } from '../submit/wait.ts';
import { batchViewOf, liveOf } from './view.ts';
import { packBatch } from './zip.ts';

export function batchRoutes(app: FastifyInstance, deps: ApiDeps, sends: Sends, fetches: Fetches): void {
  const { signals, clock } = deps.jobs;
  const { objects, suffix } = deps.files;
  const view = (request: FastifyRequest, { batch, records }: FoundBatch) => ({
    data: batchViewOf(batch, records, { base: baseOf(request, deps), suffix }, clock(), signals.lastProgress, request.id),
  });

  app.post('/api/v1/batch', { config: { costs: 'work' } }, async (request, reply) => {
    const { maxBatchFiles: maxFiles, maxFileBytes: maxBytes } = deps.service.settings;
    const ids = newBatch(deps);
    // A batch is answered when the files that it names are there.
    const wait = restWait(deps, request, reply, 'files');
    const form = { fields: FIELDS_OF_SEVERAL, maxFiles, maxBytes, checksCapacity: true, ids, fetches, gone: wait.gone };
    return submit(deps, {
      ids,
      wait,
      // Limits count the first job now, the others when the form is read.
      admit: () => admitRequest(deps, request, ids.jobs.slice(0, 1), poolsOfAll(deps)),
      open: () => ({
        source: forEachTarget(deps, ids, formSource(deps, request, form)),
        work: handledAsPreferred(request, reply, batchWork(deps, ids, maxFiles), CONVERSION_FIELDS),
      }),
      answer(submitted) {
        noteSubmission(request, reply, submitted);
        return view(request, wholeBatch(submitted));
      },
    });
  });

  app.get<{ Params: { id: string } }>('/api/v1/batches/:id', async (request) => view(request, await findBatch(deps, request.params.id)));

  app.delete<{ Params: { id: string } }>('/api/v1/batches/:id', async (request, reply) => {
    await cancelBatch(deps, request.params.id);
    return reply.code(204).send();
  });

  app.get<{ Params: { id: string } }>('/api/v1/batches/:id/output', { exposeHeadRoute: true }, async (request, reply) => {
    const { batch, records } = await findBatch(deps, request.params.id);
    const live = liveOf(records, clock());
    if (!live.every(hasEnded)) {
      reply.header('retry-after', RETRY_AFTER);
      throw new Failure('JOB_NOT_READY', { details: { batch_id: batch.id } });
    }
    // A pack is made while it is sent: of one that is only asked about, no file is read.
    const zip = request.method === 'HEAD' && live.some(({ output }) => output !== undefined) ? Readable.from([]) : packBatch(objects, live);
    if (zip === undefined)
      throw new Failure('CONVERSION_FAILED', { says: 'No file in this batch could be converted.', details: { batch_id: batch.id } });
    sends(
      zip,
      live.filter(({ output }) => output !== undefined).map(({ id }) => id),
    );
    return reply
      .headers({ ...HARMLESS, 'accept-ranges': 'none' })
      .header('content-type', 'application/zip')
      .header('content-disposition', contentDisposition(`${batch.id}-filemill.zip`))
      .send(zip);
  });
}

/** The ids of a batch, with one for each file that may come. */
export const newBatch = ({ service: { newId, settings } }: Pick<ApiDeps, 'service'>, first = newId()): Ids =>
  oneBatch(`bat_${newId().slice(0, 16)}`, [first, ...Array.from({ length: settings.maxBatchFiles - 1 }, newId)]);

/** Cancels each job of a batch, and removes its files. @throws Failure `JOB_NOT_FOUND` */
export async function cancelBatch(deps: Pick<ApiDeps, 'jobs' | 'files'>, id: string): Promise<void> {
  const { batch } = await findBatch(deps, id);
  for (const job of batch.jobs) await cancelJob(deps, job).catch(unlessForgotten);
}

function unlessForgotten(error: unknown): void {
  if (!(error instanceof Failure) || error.code !== 'JOB_NOT_FOUND') throw error;
}
