/** `POST /api/v1/convert`: one file in, one job out; small ones are done when the answer comes. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { JobRecord } from '../../jobs/record.ts';
import { inputKey } from '../../objects/keys.ts';
import { clientOf } from '../admission/admission.ts';
import { lookAtConversion, poolsOfAll } from '../admission/capacity.ts';
import { admitIdempotent, type Claim, findCreated, runIdempotent } from '../admission/idempotency.ts';
import type { ApiDeps } from '../deps.ts';
import { ONE_FILE, onlyFile, type Received, receive, type Wanted } from '../intake/receive.ts';
import { withReferences } from '../intake/references.ts';
import { conversionOf, readRequestOptions } from './conversion.ts';
import { enqueue } from './enqueue.ts';
import { answerWhenSettled } from './settle.ts';

export function convertRoute(app: FastifyInstance, deps: ApiDeps): void {
  const { objects, settings } = deps;
  app.post('/api/v1/convert', { config: { costs: 'work' } }, async (request, reply) => {
    const id = deps.newId();
    const idempotent = await admitIdempotent(deps, request, [id], poolsOfAll(deps));
    const look = idempotent?.earlier === undefined ? lookAtConversion(deps) : undefined;
    const wanted: Wanted = { fields: ONE_FILE, maxFiles: 1, maxBytes: settings.maxFileBytes, keyOf: () => inputKey(id), look };
    const sent = await receive(request.raw, wanted, objects, settings);
    const record = await runIdempotent(deps, request, idempotent, {
      id,
      sent,
      inputs: [inputKey(id)],
      create: (claim) => begin(deps, request, id, sent, wanted, claim),
      find: (created) => findCreated(deps, created),
    });
    request.log.info({ job_id: id, bytes: record.sources[0]?.sizeBytes }, 'a file was received');
    return answerWhenSettled(deps, request, reply, record, idempotent !== undefined);
  });
}

async function begin(deps: ApiDeps, request: FastifyRequest, id: string, sent: Received, wanted: Wanted, claim: Claim): Promise<JobRecord> {
  const file = onlyFile(await withReferences(deps, request, sent, wanted));
  deps.metrics.uploaded(file.sizeBytes);
  const record = await conversionOf(deps, id, file, readRequestOptions(sent.fields, 'interactive'));
  return enqueue(deps, record, clientOf(deps, request).key, claim);
}
