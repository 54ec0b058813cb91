/** `POST /api/v1/tools/{slug}`: one tool on one file or several; `GET /api/v1/tools`: the list of tools. */
import type { FastifyInstance } from 'fastify';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Tool } from '../../catalog/tool.ts';
import { clientOf, noteTool } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { type EncodedBody, encodedBody, pack, sendEncoded } from '../http/encoded.ts';
import { jobAnswer } from '../submit/answer.ts';
import { poolsOfTool } from '../submit/capacity.ts';
import { handledAsPreferred } from '../submit/conversion.ts';
import type { Fetches } from '../submit/fetches.ts';
import { formSource } from '../submit/form.ts';
import { admitRequest } from '../submit/idempotency.ts';
import { oneJob } from '../submit/stages.ts';
import { submit } from '../submit/submit.ts';
import { fieldsOf, toolWork } from '../submit/tool.ts';
import { restWait } from '../submit/wait.ts';
import { findTool, unknownTool } from './find.ts';
import { describeTools, type ToolLimits } from './list.ts';

/** @returns builds the answers that most clients fetch */
export function toolRoutes(app: FastifyInstance, deps: ApiDeps, fetches: Fetches): () => Promise<void> {
  /** By the client's daily limits of each tool: these are higher for addresses that many people share. */
  const lists = new WeakMap<Catalog, Map<string, EncodedBody>>();
  const listFor = (ai: ToolLimits['ai']): EncodedBody => {
    const catalog = deps.catalogue.current;
    const bodies = lists.get(catalog) ?? new Map<string, EncodedBody>();
    lists.set(catalog, bodies);
    const name = Object.values(ai)
      .map(({ limit }) => limit)
      .join();
    const known = bodies.get(name);
    if (known !== undefined) return known;
    const tools = describeTools(catalog, { maxFileBytes: deps.service.settings.maxFileBytes, ai });
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
    const entry = describeTools(deps.catalogue.current, { maxFileBytes: deps.service.settings.maxFileBytes, ai }).find(
      (each) => each.slug === slug,
    );
    if (entry === undefined) throw unknownTool();
    return { data: entry };
  });

  app.post<{ Params: { slug: string } }>('/api/v1/tools/:slug', { config: { costs: 'work' } }, async (request, reply) => {
    const { slug } = request.params;
    if (deps.catalogue.current.absent.has(slug)) noteTool(deps, request, slug);
    const tool = findTool(deps, slug);
    const ids = oneJob(deps.service.newId());
    const wait = restWait(deps, request, reply, 'end');
    return submit(deps, {
      ids,
      wait,
      admit: () => admitRequest(deps, request, ids.jobs, poolsOfTool(deps, tool), tool.slug),
      open: () => ({
        source: formSource(deps, request, { ...formOf(deps, tool), ids, fetches, gone: wait.gone }),
        work: handledAsPreferred(request, reply, toolWork(deps, ids, tool), fieldsOf(tool)),
      }),
      answer: jobAnswer(deps, request, reply),
    });
  });
  return async () => {
    const { ai } = await deps.limits.limiter.usage(deps.limits.identify(undefined, undefined));
    await pack(listFor(ai));
  };
}

/** What a tool takes of a form. */
function formOf({ service: { settings } }: Pick<ApiDeps, 'service'>, { files, bounds, input, takesPage }: Tool) {
  const maxBytes = Math.min(settings.maxFileBytes, bounds?.maxBytes ?? settings.maxFileBytes);
  const isText = (name: string) => Object.hasOwn(input.shape, name);
  return { fields: files.fields, inOrder: files.inOrder, maxFiles: files.max, maxBytes, isText, takesPage };
}
