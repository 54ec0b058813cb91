/** `POST /api/v1/tools/{slug}`: one tool on one file or several; `GET /api/v1/tools`: the list of tools. */
import type { FastifyInstance } from 'fastify';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Tool } from '../../catalog/tool.ts';
import { sourceBytes } from '../../jobs/record.ts';
import { clientOf, noteTool } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { type EncodedBody, encodedBody, pack, sendEncoded } from '../http/encoded.ts';
import { jobAnswer } from '../submit/answer.ts';
import { poolsOfTool } from '../submit/capacity.ts';
import { handledAsPreferred } from '../submit/conversion.ts';
import type { Fetches } from '../submit/fetches.ts';
import { formSource } from '../submit/form.ts';
import { admitRequest } from '../submit/idempotency.ts';
import { type Ids, oneJob } from '../submit/stages.ts';
import { submit } from '../submit/submit.ts';
import { fieldsOf, toolWork } from '../submit/tool.ts';
import { findTool, unknownTool } from './find.ts';
import { describeTools, type ToolLimits } from './list.ts';

/** @returns builds the answers that most clients fetch */
export function toolRoutes(app: FastifyInstance, deps: ApiDeps, fetches: Fetches): () => Promise<void> {
  /** By what a client may send to each tool: that differs for addresses that many share. */
  const lists = new WeakMap<Catalog, Map<string, EncodedBody>>();
  const listFor = (ai: ToolLimits['ai']): EncodedBody => {
    const { catalog, settings } = deps;
    const bodies = lists.get(catalog) ?? new Map<string, EncodedBody>();
    lists.set(catalog, bodies);
    const name = Object.values(ai)
      .map(({ limit }) => limit)
      .join();
    const known = bodies.get(name);
    if (known !== undefined) return known;
    const tools = describeTools(catalog, { maxFileBytes: settings.maxFileBytes, ai });
    const body = encodedBody('application/json; charset=utf-8', JSON.stringify({ data: { tools } }));
    bodies.set(name, body);
    return body;
  };

  app.get('/api/v1/tools', async (request, reply) => {
    const { ai } = await deps.limits.limiter.usage(clientOf(deps, request));
    return sendEncoded(request, reply, listFor(ai));
  });

  app.get<{ Params: { slug: string } }>('/api/v1/tools/:slug', async (request) => {
    const { ai } = await deps.limits.limiter.usage(clientOf(deps, request));
    const { slug } = request.params;
    const entry = describeTools(deps.catalog, { maxFileBytes: deps.settings.maxFileBytes, ai }).find((each) => each.slug === slug);
    if (entry === undefined) throw unknownTool();
    return { data: entry };
  });

  app.post<{ Params: { slug: string } }>('/api/v1/tools/:slug', { config: { costs: 'work' } }, async (request, reply) => {
    const { slug } = request.params;
    if (deps.catalog.absent.has(slug)) noteTool(deps, request, slug);
    const tool = findTool(deps, slug);
    const ids = oneJob(deps.newId());
    return submit(deps, {
      ids,
      admit: () => admitRequest(deps, request, [ids.id], poolsOfTool(deps, tool), tool.slug),
      open: () => ({
        source: formSource(deps, request, fetches, formOf(deps, tool, ids)),
        work: handledAsPreferred(request, reply, toolWork(deps, ids, tool), fieldsOf(tool)),
      }),
      answer: jobAnswer(deps, request, reply, (record) =>
        request.log.info({ job_id: record.id, tool: tool.slug, bytes: sourceBytes(record) }, 'files were received'),
      ),
    });
  });
  return async () => {
    const { ai } = await deps.limits.limiter.usage(deps.limits.identify(undefined, undefined));
    await pack(listFor(ai));
  };
}

/** What a tool takes of a form. */
function formOf({ settings }: ApiDeps, { files, bounds, input, takesPage }: Tool, { keyOf }: Ids) {
  const maxBytes = Math.min(settings.maxFileBytes, bounds?.maxBytes ?? settings.maxFileBytes);
  const isText = (name: string) => Object.hasOwn(input.shape, name);
  return { fields: files.fields, inOrder: files.inOrder, maxFiles: files.max, maxBytes, keyOf, isText, takesPage };
}
