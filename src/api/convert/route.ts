/** `POST /api/v1/convert`: one file in, one job out; a small one is done when the answer comes. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { inputKey } from '../../objects/keys.ts';
import { clientOf } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { ownedInputs } from '../intake/inputs.ts';
import { keepAll } from '../intake/owned.ts';
import { keysOf, ONE_FILE, onlyFile, type ReceivedFile, type Wanted } from '../intake/receive.ts';
import { receiveOrNamed, urlsIn, withUploads } from '../intake/references.ts';
import { checkCapacity, poolsOfAll } from '../submit/capacity.ts';
import { readRequestOptions, targetOf, validateConversion } from '../submit/conversion.ts';
import { createJob, enqueue } from '../submit/enqueue.ts';
import { draftOf, type Fetches, type Submitted, submitFetched } from '../submit/fetching.ts';
import { admitRequest, findCreated } from '../submit/idempotency.ts';
import { respond, wait } from '../submit/settle.ts';

export function convertRoute(app: FastifyInstance, deps: ApiDeps, fetches: Fetches): void {
  app.post('/api/v1/convert', { config: { costs: 'work' } }, async (request, reply) => {
    const { record, mayReturn, waitedMs } = await submit(deps, fetches, request);
    request.log.info({ job_id: record.id, bytes: record.sources[0]?.sizeBytes }, 'a file was received');
    const latest = await wait(deps, request, reply, record, mayReturn, waitedMs);
    return respond(deps, request, reply, latest);
  });
}

/** @returns the queued job, or the one that an earlier request under the same key created; where it throws, nothing is left */
async function submit(deps: ApiDeps, fetches: Fetches, request: FastifyRequest): Promise<Submitted> {
  const { objects, settings, metrics } = deps;
  const id = deps.newId();
  await using idempotency = await admitRequest(deps, request, [id], poolsOfAll(deps));
  const mayReturn = idempotency.hasKey;

  const check = idempotency.isRepeated ? undefined : checkCapacity(deps);
  const wanted: Wanted = { fields: ONE_FILE, maxFiles: 1, maxBytes: settings.maxFileBytes, keyOf: () => inputKey(id), check };
  const sent = await receiveOrNamed(deps, request, wanted);
  await using inputs = ownedInputs(objects, keysOf(wanted));

  const earlier = await idempotency.resolve(sent);
  if (earlier !== undefined) return { record: await findCreated(deps, earlier), mayReturn };

  const named = urlsIn(deps, sent, wanted);
  if (named !== undefined) {
    const requestOptions = readRequestOptions(sent.fields, 'interactive');
    const draft = draftOf(id, deps.clock(), named.values, { lane: requestOptions.lane, target: targetOf(requestOptions) });
    const validate = (files: readonly ReceivedFile[]) =>
      validateConversion(deps, id, onlyFile({ fields: sent.fields, files, count: files.length }), requestOptions);
    // Awaited here: what the request has stored goes at the end of this scope.
    return await submitFetched(deps, fetches, request, { idempotency, inputs, sent, draft, named, keyOf: wanted.keyOf, validate });
  }

  const file = onlyFile(await withUploads(deps, request, sent, wanted));
  metrics.uploaded(file.sizeBytes);
  const valid = await validateConversion(deps, id, file, readRequestOptions(sent.fields, 'interactive'));

  await using created = await createJob(deps, valid);
  const winner = await idempotency.claim(id, sent);
  if (winner !== undefined) return { record: await findCreated(deps, winner), mayReturn };

  const record = await enqueue(deps, created, clientOf(deps, request).key);
  keepAll(idempotency, inputs, created);
  return { record, mayReturn };
}
