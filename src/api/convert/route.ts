/** `POST /api/v1/convert`: one file in, one job out; a small one is done when the answer comes. */
import type { FastifyInstance } from 'fastify';
import type { ApiDeps } from '../deps.ts';
import { jobAnswer } from '../submit/answer.ts';
import { poolsOfAll } from '../submit/capacity.ts';
import { CONVERSION_FIELDS, conversionWork, handledAsPreferred } from '../submit/conversion.ts';
import type { Fetches } from '../submit/fetches.ts';
import { conversionForm, formSource } from '../submit/form.ts';
import { admitRequest } from '../submit/idempotency.ts';
import { oneJob } from '../submit/stages.ts';
import { submit } from '../submit/submit.ts';
import { restWait } from '../submit/wait.ts';

export function convertRoute(app: FastifyInstance, deps: ApiDeps, fetches: Fetches): void {
  app.post('/api/v1/convert', { config: { costs: 'work' } }, (request, reply) => {
    const ids = oneJob(deps.service.newId());
    const wait = restWait(deps, request, reply, 'end');
    return submit(deps, {
      ids,
      wait,
      admit: () => admitRequest(deps, request, ids.jobs, poolsOfAll(deps)),
      open: () => ({
        source: formSource(deps, request, { ...conversionForm(deps), ids, fetches, gone: wait.gone }),
        work: handledAsPreferred(request, reply, conversionWork(deps, ids), CONVERSION_FIELDS),
      }),
      answer: jobAnswer(deps, request, reply),
    });
  });
}
