/** `POST /api/v1/tools/{slug}`: one tool on one file or several; `GET /api/v1/tools`: the list of tools. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Tool } from '../../catalog/tool.ts';
import { Failure } from '../../errors.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { inputKey } from '../../objects/keys.ts';
import { clientOf, noteTool } from '../admission/admission.ts';
import { poolsOfTool } from '../admission/capacity.ts';
import { admitRequest, findCreated } from '../admission/idempotency.ts';
import type { ApiDeps } from '../deps.ts';
import { ownedInputs } from '../intake/inputs.ts';
import { keepAll } from '../intake/owned.ts';
import { receivePage } from '../intake/page.ts';
import { keysOf, receive, type Wanted } from '../intake/receive.ts';
import { withReferences } from '../intake/references.ts';
import { createJob, enqueue } from '../jobs/enqueue.ts';
import { respond, wait } from '../jobs/settle.ts';
import { validateTool } from './job.ts';
import { describeTools } from './list.ts';

export function toolRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/api/v1/tools', async (request) => {
    const { ai } = await deps.limits.limiter.usage(clientOf(deps, request));
    return { data: { tools: describeTools(deps.catalog, { maxFileBytes: deps.settings.maxFileBytes, ai }) } };
  });

  app.post<{ Params: { slug: string } }>('/api/v1/tools/:slug', { config: { costs: 'work' } }, async (request, reply) => {
    const tool = findTool(deps, request);
    const { record, mayReturn } = await submit(deps, request, tool);
    const bytes = record.sources.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    deps.metrics.uploaded(bytes);
    request.log.info({ job_id: record.id, tool: tool.slug, bytes }, 'files were received');
    const latest = await wait(deps, request, reply, record, mayReturn);
    return respond(deps, request, reply, latest);
  });
}

/** @returns the queued job, or the one that an earlier request under the same key created; where it throws, nothing is left */
async function submit(
  deps: ApiDeps,
  request: FastifyRequest,
  tool: Tool,
): Promise<{ readonly record: JobRecord; readonly mayReturn: boolean }> {
  const { objects, settings } = deps;
  const id = deps.newId();
  await using idempotency = await admitRequest(deps, request, [id], poolsOfTool(deps, tool), tool.slug);
  const mayReturn = idempotency.hasKey;

  const { fields, max: maxFiles } = tool.files;
  const wanted: Wanted = {
    fields,
    maxFiles,
    maxBytes: settings.maxFileBytes,
    keyOf: (part) => inputKey(id, part),
    isText: (name) => Object.hasOwn(tool.input.shape, name),
  };
  const sent = tool.takesPage ? await receivePage(deps, request, wanted) : await receive(request.raw, wanted, objects, settings);
  await using inputs = ownedInputs(objects, keysOf(wanted));

  const earlier = await idempotency.resolve(sent);
  if (earlier !== undefined) return { record: await findCreated(deps, earlier), mayReturn };

  const valid = await validateTool(deps, id, tool, await withReferences(deps, request, sent, wanted));

  await using created = await createJob(deps, valid);
  const winner = await idempotency.claim(id, sent);
  if (winner !== undefined) return { record: await findCreated(deps, winner), mayReturn };

  const record = await enqueue(deps, created, clientOf(deps, request).key);
  keepAll(idempotency, inputs, created);
  return { record, mayReturn };
}

/** @throws Failure `NOT_FOUND`, `NOT_IMPLEMENTED` */
function findTool(deps: ApiDeps, request: FastifyRequest<{ Params: { slug: string } }>): Tool {
  const { catalog } = deps;
  const { slug } = request.params;
  const tool = catalog.tools.get(slug);
  if (tool !== undefined) return tool;
  const absent = catalog.absent.get(slug);
  if (absent === undefined) throw new Failure('NOT_FOUND', { says: 'There is no such tool; GET /api/v1/tools lists them.' });
  noteTool(deps, request, slug);
  const { reason } = absent;
  throw new Failure('NOT_IMPLEMENTED', { says: `The tool ${slug} is not available here: ${reason}.`, details: { slug, reason } });
}
