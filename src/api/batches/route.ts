/** `POST /api/v1/batch` and `…/batches/{id}`: up to twenty files to one format, each a separate job. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { type BatchRecord, batchIdPattern } from '../../jobs/batch.ts';
import { hasEnded } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { ApiDeps } from '../deps.ts';
import { applied, prefersAsync } from '../http/preferences.ts';
import { FIELDS_OF_SEVERAL } from '../intake/receive.ts';
import { cancelJob } from '../jobs/cancel.ts';
import { baseOf, RETRY_AFTER } from '../jobs/send.ts';
import type { Sends } from '../outputs/deleted.ts';
import { contentDisposition, HARMLESS } from '../outputs/route.ts';
import { noteReplay } from '../submit/answer.ts';
import { batchWork } from '../submit/batch.ts';
import { poolsOfAll } from '../submit/capacity.ts';
import { CONVERSION_FIELDS, handledAsPreferred } from '../submit/conversion.ts';
import type { Fetches } from '../submit/fetches.ts';
import { formSource } from '../submit/form.ts';
import { admitRequest } from '../submit/idempotency.ts';
import { type Ids, oneBatch, type SubmittedJobs } from '../submit/stages.ts';
import { submit } from '../submit/submit.ts';
import { forEachTarget } from '../submit/targets.ts';
import { batchViewOf, liveOf } from './view.ts';
import { packBatch } from './zip.ts';

export function batchRoutes(app: FastifyInstance, deps: ApiDeps, sends: Sends, fetches: Fetches): void {
  const { objects, signals, clock } = deps;
  const view = (request: FastifyRequest, { batch, records }: FoundBatch) => ({
    data: batchViewOf(batch, records, baseOf(request, deps), clock(), signals.lastProgress, request.id),
  });

  app.post('/api/v1/batch', { config: { costs: 'work' } }, async (request, reply) => {
    const { maxBatchFiles: maxFiles, maxFileBytes: maxBytes } = deps.settings;
    const ids = newBatch(deps);
    const form = { fields: FIELDS_OF_SEVERAL, maxFiles, maxBytes, keyOf: ids.keyOf, checksCapacity: true };
    return submit(deps, {
      ids,
      // Limits count the first job now, the others when the form is read.
      admit: () => admitRequest(deps, request, [ids.jobOf(0)], poolsOfAll(deps)),
      open: () => ({
        source: forEachTarget(deps, ids, formSource(deps, request, fetches, form)),
        work: handledAsPreferred(request, reply, batchWork(deps, ids, maxFiles), CONVERSION_FIELDS),
      }),
      answer: {
        find: (id) => findCreatedBatch(deps, id),
        log({ batch, records }) {
          request.log.info({ batch_id: batch?.id, files: records.length }, 'a batch was received');
        },
        async wait(submitted) {
          // A batch is answered at once.
          if (prefersAsync(request)) applied(reply, 'respond-async');
          return submitted;
        },
        respond(submitted) {
          noteReplay(reply, submitted);
          return view(request, whole(submitted));
        },
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

export interface FoundBatch {
  readonly batch: BatchRecord;
  readonly records: readonly JobRecord[];
}

/** The ids of a batch, with one for each file that may come. */
export const newBatch = ({ newId, settings }: ApiDeps, first = newId()): Ids =>
  oneBatch(`bat_${newId().slice(0, 16)}`, [first, ...Array.from({ length: settings.maxBatchFiles - 1 }, newId)]);

export function whole({ batch, records }: SubmittedJobs): FoundBatch {
  if (batch === undefined) throw new Error('a request for a batch has none');
  return { batch, records };
}

/** @throws Failure `JOB_NOT_FOUND` */
export async function findBatch({ batches, jobs }: ApiDeps, id: string): Promise<FoundBatch> {
  const batch = batchIdPattern.test(id) ? await batches.get(id) : undefined;
  if (batch === undefined) throw new Failure('JOB_NOT_FOUND', { says: 'There is no such batch.' });
  const stored = await Promise.all(batch.jobs.map((job) => jobs.get(job)));
  return { batch, records: stored.flatMap((found) => (found === undefined ? [] : [found.record])) };
}

/** The batch of an earlier request. @throws Failure `OVERLOADED` where that request has just taken it back */
function findCreatedBatch(deps: ApiDeps, id: string): Promise<FoundBatch> {
  return findBatch(deps, id).catch((error: unknown) => {
    throw error instanceof Failure && error.code === 'JOB_NOT_FOUND' ? new Failure('OVERLOADED', { cause: error }) : error;
  });
}

/** Cancels each job of a batch, and removes its files. @throws Failure `JOB_NOT_FOUND` */
export async function cancelBatch(deps: ApiDeps, id: string): Promise<void> {
  const { batch } = await findBatch(deps, id);
  for (const job of batch.jobs) await cancelJob(deps, job).catch(unlessForgotten);
}

function unlessForgotten(error: unknown): void {
  if (!(error instanceof Failure) || error.code !== 'JOB_NOT_FOUND') throw error;
}
