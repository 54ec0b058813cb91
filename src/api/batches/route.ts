/** `POST /api/v1/batch` and `…/batches/{id}`: up to twenty files to one format, each a job of its own. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { formatByExtension } from '../../catalog/formats.ts';
import { Failure } from '../../errors.ts';
import { BATCH_VERSION, type BatchRecord, batchIdPattern } from '../../jobs/batch.ts';
import { hasEnded } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { inputKey } from '../../objects/keys.ts';
import { mapConcurrently } from '../../streams/concurrency.ts';
import { admitMore, clientOf } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { deleteInputs, ownedInputs } from '../intake/inputs.ts';
import { keepAll } from '../intake/owned.ts';
import { keysOf, noFile, onlyFile, type Received, SEVERAL_FILES, type Wanted } from '../intake/receive.ts';
import { FILES_AT_ONCE, type Named, receiveOrNamed, urlsIn, withUploads } from '../intake/references.ts';
import { cancelJob } from '../jobs/cancel.ts';
import { baseOf, RETRY_AFTER } from '../jobs/send.ts';
import type { Sends } from '../outputs/deleted.ts';
import { contentDisposition, HARMLESS } from '../outputs/route.ts';
import { validateBatch } from '../submit/batch.ts';
import { checkCapacity, poolsOfAll } from '../submit/capacity.ts';
import { type RequestOptions, readRequestOptions, targetOf, validateConversion } from '../submit/conversion.ts';
import { type CreatedBatch, type CreatedJob, createBatch, enqueueAll } from '../submit/enqueue.ts';
import { beforeAnswer, draftOf, type Fetches, type Fetching, failFetch, fetchJob } from '../submit/fetching.ts';
import { admitRequest } from '../submit/idempotency.ts';
import { prefersAsync } from '../submit/settle.ts';
import { batchViewOf, liveOf } from './view.ts';
import { packBatch } from './zip.ts';

export function batchRoutes(app: FastifyInstance, deps: ApiDeps, sends: Sends, fetches: Fetches): void {
  const { objects, signals, clock } = deps;
  const view = (request: FastifyRequest, { batch, records }: Found) => ({
    data: batchViewOf(batch, records, baseOf(request, deps), clock(), signals.lastProgress, request.id),
  });

  app.post('/api/v1/batch', { config: { costs: 'work' } }, async (request, reply) => {
    const found = await submit(deps, fetches, request);
    if (prefersAsync(request)) reply.header('preference-applied', 'respond-async');
    request.log.info({ batch_id: found.batch.id, files: found.records.length }, 'a batch was received');
    return view(request, found);
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

export interface Found {
  readonly batch: BatchRecord;
  readonly records: readonly JobRecord[];
}

/** @returns the queued batch, or the one that an earlier request under the same key created; where it throws, nothing is left */
async function submit(deps: ApiDeps, fetches: Fetches, request: FastifyRequest): Promise<Found> {
  const { objects, settings } = deps;
  const maxFiles = settings.maxBatchFiles;
  const id = `bat_${deps.newId().slice(0, 16)}`;
  // One for each file that may come; limits count the first now, the others when the form is read.
  const ids = Array.from({ length: maxFiles }, deps.newId);
  const [first = ''] = ids;
  await using idempotency = await admitRequest(deps, request, [first], poolsOfAll(deps));

  const check = idempotency.isRepeated ? undefined : checkCapacity(deps);
  const keyOf = (part: number) => inputKey(ids[part] ?? '', part);
  const wanted: Wanted = { fields: SEVERAL_FILES, maxFiles, maxBytes: settings.maxFileBytes, keyOf, check };
  const sent = await receiveOrNamed(deps, request, wanted);
  await using inputs = ownedInputs(objects, keysOf(wanted));

  const earlier = await idempotency.resolve(sent);
  if (earlier !== undefined) return findCreatedBatch(deps, earlier);

  const requestOptions = readBatchOptions(sent);
  const named = urlsIn(deps, sent, wanted);
  const received = named === undefined ? await withUploads(deps, request, sent, wanted) : { ...sent, count: named.values.length };
  checkCount(received, maxFiles);
  const jobs = named === undefined ? received.files.map(({ part }) => ids[part] ?? '') : ids.slice(0, named.values.length);
  await admitMore(
    deps,
    request,
    jobs.filter((job) => job !== first),
  );
  const known = { lane: requestOptions.lane, target: targetOf(requestOptions) };
  const valid =
    named === undefined
      ? await validateBatch(deps, jobs, received.files, requestOptions)
      : named.values.map((url, part) => draftOf(ids[part] ?? '', deps.clock(), [url], known));

  await using created = await createBatch(deps, { version: BATCH_VERSION, id, createdAt: deps.clock(), jobs }, valid);
  const winner = await idempotency.claim(id, sent);
  if (winner !== undefined) return findCreatedBatch(deps, winner);

  if (named !== undefined) {
    const work = fetchBatch(deps, fetches, request, created, named, requestOptions);
    keepAll(idempotency, inputs, created);
    let hasLeft = false;
    await beforeAnswer(deps, request, work, () => {
      hasLeft = true;
      // Nobody else knows the batch's id.
      if (!idempotency.hasKey) void fetches.track(Promise.all(jobs.map((job) => cancelJob(deps, job).catch(() => undefined))));
    });
    return hasLeft ? { batch: created.batch, records: valid } : findCreatedBatch(deps, id);
  }

  const records = await enqueueAll(deps, created, clientOf(deps, request).key);
  keepAll(idempotency, inputs, created);
  // Nobody will read the files that were refused. Where this fails, upkeep does it later.
  for (const record of records) if (hasEnded(record)) await deleteInputs(objects, record).catch(() => undefined);
  return { batch: created.batch, records };
}

/** Each file of its own: one that is refused fails its job alone. @throws Failure `OVERLOADED`; then no fetch has begun */
function fetchBatch(
  deps: ApiDeps,
  fetches: Fetches,
  request: FastifyRequest,
  { jobs }: CreatedBatch,
  { values }: Named,
  requestOptions: RequestOptions,
): Promise<unknown> {
  const client = clientOf(deps, request).key;
  const fetchOne = async (job: CreatedJob, at: number): Promise<void> => {
    const { id } = job.stored.record;
    // It may have been cancelled while it waited for its turn.
    const latest = await deps.jobs.get(id).catch(() => job.stored);
    if (latest === undefined || hasEnded(latest.record)) return;
    // The file of the batch's nth job is stored as its only one.
    const fetching: Fetching = {
      job,
      client,
      named: { field: 'url', values: [values[at] ?? ''] },
      keyOf: () => inputKey(id),
      validate: (files) => validateConversion(deps, id, onlyFile({ fields: new Map(), files, count: files.length }), requestOptions),
    };
    await fetchJob(deps, fetching).catch((error: unknown) => failFetch(deps, fetching, error));
  };
  return fetches.begin(client, () => mapConcurrently(jobs, { limit: FILES_AT_ONCE }, fetchOne));
}

/** @throws Failure `INVALID_FORMAT`, `INVALID_OPTION` */
export function readBatchOptions({ fields }: Pick<Received, 'fields'>): RequestOptions {
  const requestOptions = readRequestOptions(fields, 'bulk');
  const { extension } = requestOptions;
  if (formatByExtension(extension) !== undefined) return requestOptions;
  throw new Failure('INVALID_FORMAT', { details: { to_format: extension, targets: [] } });
}

/** @throws Failure `JOB_NOT_FOUND` */
export async function findBatch({ batches, jobs }: ApiDeps, id: string): Promise<Found> {
  const batch = batchIdPattern.test(id) ? await batches.get(id) : undefined;
  if (batch === undefined) throw new Failure('JOB_NOT_FOUND', { says: 'There is no such batch.' });
  const stored = await Promise.all(batch.jobs.map((job) => jobs.get(job)));
  return { batch, records: stored.flatMap((found) => (found === undefined ? [] : [found.record])) };
}

/** The batch of an earlier request. @throws Failure `OVERLOADED` where that request has just taken it back */
function findCreatedBatch(deps: ApiDeps, id: string): Promise<Found> {
  return findBatch(deps, id).catch((error: unknown) => {
    throw error instanceof Failure && error.code === 'JOB_NOT_FOUND' ? new Failure('OVERLOADED', { cause: error }) : error;
  });
}

/** @throws Failure `NO_FILE`, `BATCH_TOO_LARGE` */
export function checkCount(
  received: Pick<Received, 'count' | 'fields'> & Partial<Pick<Received, 'strays' | 'contentType'>>,
  max: number,
): void {
  const { count } = received;
  if (count === 0) throw noFile(received, 'files[]', `up to ${max}`);
  if (count <= max) return;
  const says = `A batch may have at most ${max} files; ${count} were sent.`;
  throw new Failure('BATCH_TOO_LARGE', { says, details: { max_files: max, received_files: count } });
}

/** Cancels each job of a batch, and removes its files. @throws Failure `JOB_NOT_FOUND` */
export async function cancelBatch(deps: ApiDeps, id: string): Promise<void> {
  const { batch } = await findBatch(deps, id);
  for (const job of batch.jobs) await cancelJob(deps, job).catch(unlessForgotten);
}

function unlessForgotten(error: unknown): void {
  if (!(error instanceof Failure) || error.code !== 'JOB_NOT_FOUND') throw error;
}
