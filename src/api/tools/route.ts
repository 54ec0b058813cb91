/** `POST /api/v1/tools/{slug}`: one tool on one file or several; `GET /api/v1/tools`: the list of tools. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Catalog } from '../../catalog/catalog.ts';
import { readInput, type Tool } from '../../catalog/tool.ts';
import { inputKey } from '../../objects/keys.ts';
import { clientOf, noteTool } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { type EncodedBody, encodedBody, pack, sendEncoded } from '../http/encoded.ts';
import { ownedInputs } from '../intake/inputs.ts';
import { keepAll } from '../intake/owned.ts';
import { receivePage } from '../intake/page.ts';
import { keysOf, type ReceivedFile, type Wanted } from '../intake/receive.ts';
import { receiveOrNamed, urlsIn, withoutField, withUploads } from '../intake/references.ts';
import { poolsOfTool } from '../submit/capacity.ts';
import { createJob, enqueue } from '../submit/enqueue.ts';
import { draftOf, type Fetches, type Submitted, submitFetched } from '../submit/fetching.ts';
import { admitRequest, findCreated } from '../submit/idempotency.ts';
import { respond, wait } from '../submit/settle.ts';
import { validateTool } from '../submit/tool.ts';
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
    const { record, mayReturn, waitedMs } = await submit(deps, fetches, request, tool);
    const bytes = record.sources.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    deps.metrics.uploaded(bytes);
    request.log.info({ job_id: record.id, tool: tool.slug, bytes }, 'files were received');
    const latest = await wait(deps, request, reply, record, mayReturn, waitedMs);
    return respond(deps, request, reply, latest);
  });
  return async () => {
    const { ai } = await deps.limits.limiter.usage(deps.limits.identify(undefined, undefined));
    await pack(listFor(ai));
  };
}

/** @returns the queued job, or the one that an earlier request under the same key created; where it throws, nothing is left */
async function submit(deps: ApiDeps, fetches: Fetches, request: FastifyRequest, tool: Tool): Promise<Submitted> {
  const { objects, settings } = deps;
  const id = deps.newId();
  await using idempotency = await admitRequest(deps, request, [id], poolsOfTool(deps, tool), tool.slug);
  const mayReturn = idempotency.hasKey;

  const { fields, max: maxFiles } = tool.files;
  const maxBytes = Math.min(settings.maxFileBytes, tool.bounds?.maxBytes ?? settings.maxFileBytes);
  const wanted: Wanted = {
    fields,
    maxFiles,
    maxBytes,
    keyOf: (part) => inputKey(id, part),
    isText: (name) => Object.hasOwn(tool.input.shape, name),
  };
  const sent = tool.takesPage ? await receivePage(deps, request, wanted) : await receiveOrNamed(deps, request, wanted);
  await using inputs = ownedInputs(objects, keysOf(wanted));

  const earlier = await idempotency.resolve(sent);
  if (earlier !== undefined) return { record: await findCreated(deps, earlier), mayReturn };

  const named = tool.takesPage ? undefined : urlsIn(deps, sent, wanted);
  if (named !== undefined) {
    // What needs no file is validated before any is fetched.
    readInput(tool, sent.fields);
    const fields = withoutField(sent.fields, named.field);
    const count = named.values.length;
    if (count < tool.files.min) await validateTool(deps, id, tool, { fields, files: [], count });
    const target = { format: 'unknown', extension: '' };
    const draft = draftOf(id, deps.clock(), named.values, { lane: 'interactive', target, tool: { slug: tool.slug, input: {} } });
    const validate = (files: readonly ReceivedFile[]) => validateTool(deps, id, tool, { fields, files, count: files.length });
    // Awaited here: what the request has stored goes at the end of this scope.
    return await submitFetched(deps, fetches, request, { idempotency, inputs, sent, draft, named, keyOf: wanted.keyOf, validate });
  }

  const valid = await validateTool(deps, id, tool, await withUploads(deps, request, sent, wanted));

  await using created = await createJob(deps, valid);
  const winner = await idempotency.claim(id, sent);
  if (winner !== undefined) return { record: await findCreated(deps, winner), mayReturn };

  const record = await enqueue(deps, created, clientOf(deps, request).key);
  keepAll(idempotency, inputs, created);
  return { record, mayReturn };
}
