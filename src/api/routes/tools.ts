/** `POST /api/v1/tools/{slug}`: one tool on one file or several; `GET /api/v1/tools`: what there is. */
import type { FastifyInstance } from 'fastify';
import type { Tool } from '../../catalog/tool.ts';
import { Failure } from '../../errors.ts';
import { inputKey } from '../../objects/keys.ts';
import { admit } from '../door.ts';
import { enqueue } from '../enqueue.ts';
import { withUrl } from '../from-url.ts';
import { orRemove } from '../inputs.ts';
import type { ApiParts } from '../parts.ts';
import { receive } from '../receive.ts';
import { answerWhenSettled } from '../settle.ts';
import { toolJobOf } from '../tool-job.ts';
import { describeTools } from '../tool-list.ts';

export function toolRoutes(app: FastifyInstance, parts: ApiParts): void {
  const { catalog, objects, settings } = parts;

  app.get('/api/v1/tools', async () => ({ data: { tools: describeTools(catalog) } }));

  app.post<{ Params: { slug: string } }>('/api/v1/tools/:slug', { config: { costs: 'work' } }, async (request, reply) => {
    const tool = findTool(parts, request.params.slug);
    const id = parts.newId();
    await admit(parts, request, [id], tool.slug);
    const keyOf = (part: number) => inputKey(id, part);
    const { fields, max: maxFiles } = tool.files;
    const sent = await receive(request.raw, { fields, maxFiles, maxBytes: settings.maxFileBytes, keyOf }, objects, settings);
    // The first key is a fetched file's, where none was sent.
    const keys = [keyOf(0), ...sent.files.map(({ part }) => keyOf(part))];
    const record = await orRemove(objects, keys, async () => {
      const received = fields.includes('file') ? await withUrl(parts, request, sent, keyOf(0)) : sent;
      return enqueue(parts, toolJobOf(parts, id, tool, received));
    });
    const bytes = record.sources.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    parts.metrics.uploaded(bytes);
    request.log.info({ job_id: id, tool: tool.slug, bytes }, 'files were received');
    return answerWhenSettled(parts, request, reply, record);
  });
}

/** @throws Failure `NOT_FOUND`, `NOT_IMPLEMENTED` */
function findTool({ catalog }: Pick<ApiParts, 'catalog'>, slug: string): Tool {
  const tool = catalog.tools.get(slug);
  if (tool !== undefined) return tool;
  const absent = catalog.absent.get(slug);
  if (absent === undefined) throw new Failure('NOT_FOUND', { says: 'There is no such tool; GET /api/v1/tools lists them.' });
  const { reason } = absent;
  throw new Failure('NOT_IMPLEMENTED', { says: `The tool ${slug} is not available here: ${reason}.`, details: { slug, reason } });
}
