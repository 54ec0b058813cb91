/** `GET /api/v1/jobs?ids=…`: the states of many jobs in one answer, for a client that waits for all of them. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { jobIdPattern } from '../../contracts/api/job.ts';
import { type JobEntry, MOST_IDS } from '../../contracts/api/job-list.ts';
import { Failure } from '../../errors.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { mapConcurrently } from '../../streams/concurrency.ts';
import { countRead } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { failureOf, problemOf } from '../http/problem.ts';
import { findJob } from './found.ts';
import { errorOf } from './refused.ts';
import { baseOf } from './send.ts';
import { answersText } from './text.ts';
import { shown, viewOf } from './view.ts';

/** So many ids cost as much as one request for a single job. */
const IDS_PER_READ = 10;
/** Records that are read at a time. */
const READS_AT_ONCE = 8;

export function jobListRoute(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/api/v1/jobs', async (request) => {
    const { ids } = request.query as { readonly ids?: unknown };
    return { data: { jobs: await entriesOf(deps, request, readIds(ids)) } };
  });
}

async function entriesOf(deps: ApiDeps, request: FastifyRequest, ids: readonly string[]): Promise<JobEntry[]> {
  // The first were counted with the request.
  for (let counted = IDS_PER_READ; counted < ids.length; counted += IDS_PER_READ) await countRead(deps, request);
  const base = baseOf(request, deps);
  return mapConcurrently(ids, { limit: READS_AT_ONCE }, async (id) => entryOf(deps, id, await findJob(deps, id), base, request.id));
}

/** @param sent separated by commas, or in several parameters @returns each once, in the order sent @throws Failure `INVALID_OPTION` */
function readIds(sent: unknown): readonly string[] {
  const texts = (Array.isArray(sent) ? sent : [sent]).filter((text) => typeof text === 'string');
  const ids = [...new Set(texts.flatMap((text) => text.split(',')).flatMap((id) => id.trim() || []))];
  if (ids.length >= 1 && ids.length <= MOST_IDS) return ids;
  const allowed = `1 to ${MOST_IDS} ids of jobs, separated by commas`;
  const says = `The parameter ids has ${ids.length} ids; expected ${allowed}.`;
  throw new Failure('INVALID_OPTION', { says, details: { option: 'ids', received: String(ids.length), allowed } });
}

/** Never with the text of a result: a hundred of them would be a hundred MiB. */
function entryOf(
  { jobs, files: { suffix }, catalogue, telemetry: { log } }: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'telemetry'>,
  sent: string,
  found: JobRecord | undefined,
  base: string,
  requestId: string,
): JobEntry {
  const id = jobIdPattern.test(sent) ? sent : sent.slice(0, 40);
  try {
    const record = shown(found, jobs.clock());
    const { output, ...job } = viewOf(record, { base, suffix, progress: jobs.signals.lastProgress(id) });
    const error = errorOf(record);
    return {
      ...job,
      filename: record.filename,
      ...(output === undefined || answersText(catalogue.current, record) ? {} : { output }),
      ...(error === undefined ? {} : problemOf(error, requestId)),
    };
  } catch (error) {
    return { job_id: id, status: 'error', ...problemOf(failureOf(error, { log }), requestId) };
  }
}
