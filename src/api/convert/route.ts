/** `POST /api/v1/convert`: one file in, one job out; a small one is done when the answer comes. */
import type { FastifyInstance } from 'fastify';
import type { ApiDeps } from '../deps.ts';
import { FIELD_OF_ONE } from '../intake/receive.ts';
import { jobAnswer } from '../submit/answer.ts';
import { poolsOfAll } from '../submit/capacity.ts';
import { CONVERSION_FIELDS, conversionWork, handledAsPreferred } from '../submit/conversion.ts';
import type { Fetches } from '../submit/fetches.ts';
import { formSource } from '../submit/form.ts';
import { admitRequest } from '../submit/idempotency.ts';
import { oneJob } from '../submit/stages.ts';
import { submit } from '../submit/submit.ts';

export function convertRoute(app: FastifyInstance, deps: ApiDeps, fetches: Fetches): void {
  app.post('/api/v1/convert', { config: { costs: 'work' } }, (request, reply) => {
    const ids = oneJob(deps.newId());
    const form = { fields: FIELD_OF_ONE, maxFiles: 1, maxBytes: deps.settings.maxFileBytes, keyOf: ids.keyOf, checksCapacity: true };
    return submit(deps, {
      ids,
      admit: () => admitRequest(deps, request, [ids.id], poolsOfAll(deps)),
      open: () => ({
        source: formSource(deps, request, fetches, form),
        work: handledAsPreferred(request, reply, conversionWork(deps, ids), CONVERSION_FIELDS),
      }),
      answer: jobAnswer(deps, request, reply, ({ id, sources: [source] }) =>
        request.log.info({ job_id: id, bytes: source?.sizeBytes }, 'a file was received'),
      ),
    });
  });
}
