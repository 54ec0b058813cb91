/** `POST /api/v1/tools/{slug}`: one tool on one file or several; `GET /api/v1/tools`: what there is. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Tool } from '../../catalog/tool.ts';
import { Failure } from '../../errors.ts';
import { inputKey } from '../../objects/keys.ts';
import { poolsOfTool } from '../capacity.ts';
import { clientOf, noteTool } from '../door.ts';
import { enqueue } from '../enqueue.ts';
import { findMade } from '../made.ts';
import { admitOnce, onlyOnce } from '../once.ts';
import { receivePage } from '../page-request.ts';
import type { ApiParts } from '../parts.ts';
import { keysOf, receive, type Wanted } from '../receive.ts';
import { withReferences } from '../references.ts';
import { answerWhenSettled } from '../settle.ts';
import { toolJobOf } from '../tool-job.ts';
import { describeTools } from '../tool-list.ts';

export function toolRoutes(app: FastifyInstance, parts: ApiParts): void {
  const { objects, settings } = parts;

  app.get('/api/v1/tools', async (request) => {
    const { ai } = await parts.limits.limiter.usage(clientOf(parts, request));
    return { data: { tools: describeTools(parts.catalog, { maxFileBytes: settings.maxFileBytes, ai }) } };
  });

  app.post<{ Params: { slug: string } }>('/api/v1/tools/:slug', { config: { costs: 'work' } }, async (request, reply) => {
    const tool = findTool(parts, request);
    const id = parts.newId();
    const once = await admitOnce(parts, request, [id], poolsOfTool(parts, tool), tool.slug);
    const keyOf = (part: number) => inputKey(id, part);
    const { fields, max: maxFiles } = tool.files;
    const wanted: Wanted = { fields, maxFiles, maxBytes: settings.maxFileBytes, keyOf };
    const sent = tool.takesPage ? await receivePage(parts, request, wanted) : await receive(request.raw, wanted, objects, settings);
    const record = await onlyOnce(parts, request, once, {
      id,
      sent,
      inputs: keysOf(wanted),
      async make(claim) {
        const made = await toolJobOf(parts, id, tool, await withReferences(parts, request, sent, wanted));
        return enqueue(parts, made, clientOf(parts, request).key, claim);
      },
      find: (made) => findMade(parts, made),
    });
    const bytes = record.sources.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    parts.metrics.uploaded(bytes);
    request.log.info({ job_id: id, tool: tool.slug, bytes }, 'files were received');
    return answerWhenSettled(parts, request, reply, record, once !== undefined);
  });
}

/** @throws Failure `NOT_FOUND`, `NOT_IMPLEMENTED` */
function findTool(parts: ApiParts, request: FastifyRequest<{ Params: { slug: string } }>): Tool {
  const { catalog } = parts;
  const { slug } = request.params;
  const tool = catalog.tools.get(slug);
  if (tool !== undefined) return tool;
  const absent = catalog.absent.get(slug);
  if (absent === undefined) throw new Failure('NOT_FOUND', { says: 'There is no such tool; GET /api/v1/tools lists them.' });
  noteTool(parts, request, slug);
  const { reason } = absent;
  throw new Failure('NOT_IMPLEMENTED', { says: `The tool ${slug} is not available here: ${reason}.`, details: { slug, reason } });
}
