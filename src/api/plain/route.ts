/** The page without JavaScript: a form that converts one file, and its answers as HTML. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { hasEnded } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { countRefused } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { prefixOf } from '../http/base-url.ts';
import { answerThenDiscard } from '../http/discard.ts';
import { failureOf } from '../http/problem.ts';
import { hasBody } from '../http/refuse.ts';
import { findJob } from '../jobs/found.ts';
import { errorOf } from '../jobs/refused.ts';
import { humanSize, nameToSave, shown } from '../jobs/view.ts';
import { escapedMarkup } from '../page/heads.ts';
import type { PlainPage } from '../page/route.ts';
import type { PlainViews } from '../page-files.ts';
import { poolsOfAll } from '../submit/capacity.ts';
import { conversionWork } from '../submit/conversion.ts';
import type { Fetches } from '../submit/fetches.ts';
import { conversionForm, formSource } from '../submit/form.ts';
import { admitRequest } from '../submit/idempotency.ts';
import { oneJob, onlyRecord } from '../submit/stages.ts';
import { submit } from '../submit/submit.ts';
import { restWait } from '../submit/wait.ts';

/** When a browser asks again, seconds. */
const ASKS_AGAIN = 3;

/** Names in a view stand between two signs each (web/src/plain.tsx). */
const filled = (view: string, values: Readonly<Record<string, string>>): string =>
  view.replace(/@@(\w+)@@/g, (_, name: string) => escapedMarkup(values[name] ?? ''));

/** @param page undefined where there is none: then there is no form */
export function plainRoutes(app: FastifyInstance, deps: ApiDeps, fetches: Fetches, page: PlainPage | undefined): void {
  if (page === undefined) return;

  const send = (
    request: FastifyRequest,
    reply: FastifyReply,
    kind: Exclude<keyof PlainViews, 'sentences'>,
    values: Readonly<Record<string, string>>,
  ): FastifyReply => {
    const language = page.languageOf(request);
    const view = filled(page.views.get(language)?.[kind] ?? '', values);
    const html = page.around(view, language, prefixOf(deps.service.settings, request.raw));
    reply.headers({ ...page.headers, 'cache-control': 'no-store' }).type('text/html; charset=utf-8');
    reply.header('content-length', Buffer.byteLength(html));
    return reply.send(request.raw.complete || !hasBody(request.raw) ? html : answerThenDiscard(html, request.raw));
  };

  /** In the browser's language where it is known there, else as every client reads it. */
  const sendFailed = (request: FastifyRequest, reply: FastifyReply, failure: Failure): FastifyReply => {
    const { sentences = {} } = page.views.get(page.languageOf(request)) ?? {};
    const { code, message, details, retryAfter } = failure;
    const keys = [details['ends_early'] === true ? 'ends_early' : '', String(details['reason'] ?? ''), code];
    const text = keys.map((key) => sentences[key]).find((sentence) => sentence !== undefined) ?? message;
    if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter));
    return send(request, reply.code(failure.status), 'failed', { text });
  };

  const errorHandler = async (error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const failure = failureOf(error, request);
    countRefused(deps, request, failure.status);
    return sendFailed(request, reply, failure);
  };

  app.post('/plain', { config: { costs: 'work' }, errorHandler }, (request, reply) => {
    const ids = oneJob(deps.service.newId());
    const wait = restWait(deps, request, reply, 'end');
    return submit(deps, {
      ids,
      wait,
      admit: () => admitRequest(deps, request, ids.jobs, poolsOfAll(deps)),
      open: () => ({
        source: formSource(deps, request, { ...conversionForm(deps), ids, fetches, gone: wait.gone }),
        work: conversionWork(deps, ids),
      }),
      // A reload of what follows sends no file again.
      answer: (submitted) => reply.redirect(addressOf(request, onlyRecord(submitted)), 303),
    });
  });

  app.get<{ Params: { id: string } }>('/plain/:id', { errorHandler }, async (request, reply) => {
    const record = shown(await findJob(deps, request.params.id), deps.jobs.clock());
    const { output } = record;
    if (!hasEnded(record)) return send(request, reply.header('refresh', String(ASKS_AGAIN)), 'working', { name: record.filename });
    const failure = errorOf(record);
    if (failure !== undefined || output === undefined) return sendFailed(request, reply, failure ?? new Failure('INTERNAL_ERROR'));
    const href = `${prefixOf(deps.service.settings, request.raw)}/api/v1/jobs/${record.id}/output?name=source`;
    return send(request, reply, 'done', {
      href,
      name: nameToSave(record.filename, output.filename, deps.files.suffix),
      size: humanSize(output.sizeBytes),
    });
  });

  const addressOf = (request: FastifyRequest, { id }: JobRecord): string => `${prefixOf(deps.service.settings, request.raw)}/plain/${id}`;
}
