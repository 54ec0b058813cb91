/** `POST /api/v1/tools/{slug}`: one tool on one file or several; `GET /api/v1/tools`: what there is. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Tool } from '../../catalog/tool.ts';
import { Failure } from '../../errors.ts';
import { inputKey } from '../../objects/keys.ts';
import { clientOf, noteTool } from '../admission/admission.ts';
import { poolsOfTool } from '../admission/capacity.ts';
import { admitIdempotent, findCreated, runIdempotent } from '../admission/idempotency.ts';
import type { ApiDeps } from '../deps.ts';
import { receivePage } from '../intake/page.ts';
import { keysOf, receive, type Wanted } from '../intake/receive.ts';
import { withReferences } from '../intake/references.ts';
import { enqueue } from '../jobs/enqueue.ts';
import { answerWhenSettled } from '../jobs/settle.ts';
import { toolJobOf } from './job.ts';
import { describeTools } from './list.ts';

export function toolRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const { objects, settings } = deps;

  app.get('/api/v1/tools', async (request) => {
    const { ai } = await deps.limits.limiter.usage(clientOf(deps, request));
    return { data: { tools: describeTools(deps.catalog, { maxFileBytes: settings.maxFileBytes, ai }) } };
  });

  app.post<{ Params: { slug: string } }>('/api/v1/tools/:slug', { config: { costs: 'work' } }, async (request, reply) => {
    const tool = findTool(deps, request);
    const id = deps.newId();
    const idempotent = await admitIdempotent(deps, request, [id], poolsOfTool(deps, tool), tool.slug);
    const keyOf = (part: number) => inputKey(id, part);
    const { fields, max: maxFiles } = tool.files;
    const wanted: Wanted = { fields, maxFiles, maxBytes: settings.maxFileBytes, keyOf };
    const sent = tool.takesPage ? await receivePage(deps, request, wanted) : await receive(request.raw, wanted, objects, settings);
    const record = await runIdempotent(deps, request, idempotent, {
      id,
      sent,
      inputs: keysOf(wanted),
      async create(claim) {
        const created = await toolJobOf(deps, id, tool, await withReferences(deps, request, sent, wanted));
        return enqueue(deps, created, clientOf(deps, request).key, claim);
      },
      find: (created) => findCreated(deps, created),
    });
    const bytes = record.sources.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    deps.metrics.uploaded(bytes);
    request.log.info({ job_id: id, tool: tool.slug, bytes }, 'files were received');
    return answerWhenSettled(deps, request, reply, record, idempotent !== undefined);
  });
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
