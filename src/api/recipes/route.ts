/** `POST /api/v1/recipes/run`: several steps as one job; and `GET /api/v1/recipes`, those that the operator has named. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { clientOf } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { FIELDS_OF_SEVERAL } from '../intake/receive.ts';
import { jobAnswer } from '../submit/answer.ts';
import { poolsOfAll } from '../submit/capacity.ts';
import { handledAsPreferred } from '../submit/conversion.ts';
import type { Fetches } from '../submit/fetches.ts';
import { formSource } from '../submit/form.ts';
import { admitRequest } from '../submit/idempotency.ts';
import { oneJob } from '../submit/stages.ts';
import { submit } from '../submit/submit.ts';
import { restWait } from '../submit/wait.ts';
import { recipeWork } from './work.ts';

export function recipeRoutes(app: FastifyInstance, deps: ApiDeps, fetches: Fetches): void {
  const { recipes: named, maxBatchFiles: maxFiles, maxFileBytes: maxBytes } = deps.service.settings;

  app.get('/api/v1/recipes', () => ({
    data: {
      recipes: Object.entries(named).map(([name, { steps, may_change }]) => ({
        name,
        steps: steps.map((step) => ({ name: step.name, do: step.do })),
        may_change,
      })),
    },
  }));

  app.post('/api/v1/recipes/run', { config: { costs: 'work' } }, async (request, reply) => {
    const ids = oneJob(deps.service.newId());
    const wait = restWait(deps, request, reply, 'end');
    const form = {
      fields: FIELDS_OF_SEVERAL,
      maxFiles,
      maxBytes,
      structured: RECIPE,
      isText: (name: string) => RECIPE.has(name),
      ids,
      fetches,
      gone: wait.gone,
    };
    return submit(deps, {
      ids,
      wait,
      // Limits count the first step now, the others when the form is read.
      admit: () => admitRequest(deps, request, ids.jobs, poolsOfAll(deps)),
      open: () => ({
        source: formSource(deps, request, form),
        work: handledAsPreferred(request, reply, recipeWork(deps, ids, { named, maxFiles, client: keyOf(deps, request) }), KNOWN),
      }),
      answer: jobAnswer(deps, request, reply),
    });
  });
}

const RECIPE: ReadonlySet<string> = new Set(['recipe']);
/** Options of a named recipe are checked by the recipe. */
const KNOWN: readonly string[] = ['recipe', 'file', 'files[]', 'files', 'url', 'urls', 'urls[]', 'upload_id', 'upload_ids', 'upload_ids[]'];
const keyOf = (deps: Pick<ApiDeps, 'limits'>, request: FastifyRequest): string => clientOf(deps, request).key;
