/** `POST /api/v1/convert`: one file in, one job out; small ones are done when the answer comes. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { JobRecord } from '../../jobs/record.ts';
import { inputKey } from '../../objects/keys.ts';
import { lookAtConversion, poolsOfAll } from '../capacity.ts';
import { clientOf } from '../door.ts';
import { enqueue } from '../enqueue.ts';
import { findMade } from '../made.ts';
import { admitOnce, type Claim, onlyOnce } from '../once.ts';
import type { ApiParts } from '../parts.ts';
import { ONE_FILE, onlyFile, type Received, receive, type Wanted } from '../receive.ts';
import { withReferences } from '../references.ts';
import { answerWhenSettled } from '../settle.ts';
import { conversionOf, readWish } from '../submit.ts';

export function convertRoute(app: FastifyInstance, parts: ApiParts): void {
  const { objects, settings } = parts;
  app.post('/api/v1/convert', { config: { costs: 'work' } }, async (request, reply) => {
    const id = parts.newId();
    const once = await admitOnce(parts, request, [id], poolsOfAll(parts));
    const look = once?.done === undefined ? lookAtConversion(parts) : undefined;
    const wanted: Wanted = { fields: ONE_FILE, maxFiles: 1, maxBytes: settings.maxFileBytes, keyOf: () => inputKey(id), look };
    const sent = await receive(request.raw, wanted, objects, settings);
    const record = await onlyOnce(parts, request, once, {
      id,
      sent,
      inputs: [inputKey(id)],
      make: (claim) => begin(parts, request, id, sent, wanted, claim),
      find: (made) => findMade(parts, made),
    });
    request.log.info({ job_id: id, bytes: record.sources[0]?.sizeBytes }, 'a file was received');
    return answerWhenSettled(parts, request, reply, record, once !== undefined);
  });
}

async function begin(
  parts: ApiParts,
  request: FastifyRequest,
  id: string,
  sent: Received,
  wanted: Wanted,
  claim: Claim,
): Promise<JobRecord> {
  const file = onlyFile(await withReferences(parts, request, sent, wanted));
  parts.metrics.uploaded(file.sizeBytes);
  const record = await conversionOf(parts, id, file, readWish(sent.fields, 'interactive'));
  return enqueue(parts, record, clientOf(parts, request).key, claim);
}
