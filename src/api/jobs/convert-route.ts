/** `POST /api/v1/convert`: one file in, one job out; a small one is done when the answer comes. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { JobRecord } from '../../jobs/record.ts';
import { inputKey } from '../../objects/keys.ts';
import { clientOf } from '../admission/admission.ts';
import { checkCapacity, poolsOfAll } from '../admission/capacity.ts';
import { admitRequest, findCreated } from '../admission/idempotency.ts';
import type { ApiDeps } from '../deps.ts';
import { ownedInputs } from '../intake/inputs.ts';
import { keepAll } from '../intake/owned.ts';
import { keysOf, ONE_FILE, onlyFile, receive, type Wanted } from '../intake/receive.ts';
import { withReferences } from '../intake/references.ts';
import { readRequestOptions, validateConversion } from './conversion.ts';
import { createJob, enqueue } from './enqueue.ts';
import { respond, wait } from './settle.ts';

export function convertRoute(app: FastifyInstance, deps: ApiDeps): void {
  app.post('/api/v1/convert', { config: { costs: 'work' } }, async (request, reply) => {
    const { record, mayReturn } = await submit(deps, request);
    request.log.info({ job_id: record.id, bytes: record.sources[0]?.sizeBytes }, 'a file was received');
    const latest = await wait(deps, request, reply, record, mayReturn);
    return respond(deps, request, reply, latest);
  });
}

/** @returns the queued job, or the one that an earlier request under the same key created; where it throws, nothing is left */
async function submit(deps: ApiDeps, request: FastifyRequest): Promise<{ readonly record: JobRecord; readonly mayReturn: boolean }> {
  const { objects, settings, metrics } = deps;
  const id = deps.newId();
  await using idempotency = await admitRequest(deps, request, [id], poolsOfAll(deps));
  const mayReturn = idempotency.hasKey;

  const check = idempotency.isRepeated ? undefined : checkCapacity(deps);
  const wanted: Wanted = { fields: ONE_FILE, maxFiles: 1, maxBytes: settings.maxFileBytes, keyOf: () => inputKey(id), check };
  const sent = await receive(request.raw, wanted, objects, settings);
  await using inputs = ownedInputs(objects, keysOf(wanted));

  const earlier = await idempotency.resolve(sent);
  if (earlier !== undefined) return { record: await findCreated(deps, earlier), mayReturn };

  const file = onlyFile(await withReferences(deps, request, sent, wanted));
  metrics.uploaded(file.sizeBytes);
  const valid = await validateConversion(deps, id, file, readRequestOptions(sent.fields, 'interactive'));

  await using created = await createJob(deps, valid);
  const winner = await idempotency.claim(id, sent);
  if (winner !== undefined) return { record: await findCreated(deps, winner), mayReturn };

  const record = await enqueue(deps, created, clientOf(deps, request).key);
  keepAll(idempotency, inputs, created);
  return { record, mayReturn };
}
