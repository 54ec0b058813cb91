/** `POST /api/v1/convert`: one file in, one job out; small ones are done when the answer comes. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { inputKey } from '../../objects/keys.ts';
import { admit } from '../door.ts';
import { enqueue } from '../enqueue.ts';
import { withUrl } from '../from-url.ts';
import { orRemove } from '../inputs.ts';
import type { ApiParts } from '../parts.ts';
import { ONE_FILE, type Received, type ReceivedFile, receive } from '../receive.ts';
import { answerWhenSettled } from '../settle.ts';
import { conversionOf, readWish } from '../submit.ts';

export function convertRoute(app: FastifyInstance, parts: ApiParts): void {
  const { objects, settings } = parts;
  app.post('/api/v1/convert', { config: { costs: 'work' } }, async (request, reply) => {
    const id = parts.newId();
    await admit(parts, request, [id]);
    const keyOf = () => inputKey(id);
    const received = await receive(
      request.raw,
      { fields: ONE_FILE, maxFiles: 1, maxBytes: settings.maxFileBytes, keyOf },
      objects,
      settings,
    );
    const record = await orRemove(objects, [keyOf()], () => begin(parts, request, id, received));
    request.log.info({ job_id: id, bytes: record.sources[0]?.sizeBytes }, 'a file was received');
    return answerWhenSettled(parts, request, reply, record);
  });
}

async function begin(parts: ApiParts, request: FastifyRequest, id: string, sent: Received): Promise<JobRecord> {
  const received = await withUrl(parts, request, sent, inputKey(id));
  const file = onlyFile(received);
  parts.metrics.uploaded(file.sizeBytes);
  return enqueue(parts, conversionOf(parts, id, file, readWish(received.fields, 'interactive')));
}

/** @throws Failure `NO_FILE`, `BAD_REQUEST` */
function onlyFile({ files: [file], count }: Received): ReceivedFile {
  if (count > 1) throw new Failure('BAD_REQUEST', { says: 'The form has more than one file in the field "file": send one.' });
  if (file === undefined) throw new Failure('NO_FILE');
  if (file.sizeBytes === 0) throw new Failure('NO_FILE', { says: 'The file is empty.' });
  return file;
}
