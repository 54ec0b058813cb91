/** From a submission to a queued job: the same steps as a request's, with a source that is fetched or copied. */
import type { Submission } from '../../contracts/messages/submission.ts';
import { Failure } from '../../errors.ts';
import type { Encryption } from '../../jobs/encryption.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { Client } from '../../limits/clients/client.ts';
import { REFUNDED_STATUSES, refunding, reserve } from '../admission/share.ts';
import type { ApiDeps } from '../deps.ts';
import { failureOf, shownAs, statusOf } from '../http/problem.ts';
import { storePage } from '../intake/page.ts';
import { OUTPUT_HEADERS, OUTPUT_URL, type ReceivedFile, WEBHOOK_SECRET, WEBHOOK_URL } from '../intake/receive.ts';
import { recipeWork } from '../recipes/work.ts';
import { conversionWork } from '../submit/conversion.ts';
import { WITHOUT_KEY } from '../submit/idempotency.ts';
import { type Admitted, type Ids, keyOf, oneJob, onlyRecord, type SubmitSource, type SubmitWork } from '../submit/stages.ts';
import { submit } from '../submit/submit.ts';
import { toolWork } from '../submit/tool.ts';
import { untilAborted } from '../submit/until-aborted.ts';
import { NO_WAIT } from '../submit/wait.ts';
import { findTool } from '../tools/find.ts';
import { refusedSubmission } from './refused.ts';
import { secretsOf } from './secrets.ts';
import { receiveSource } from './source.ts';

/** Most time for bringing a source, ms. A download has its own limit; this one ends a store that hangs. */
const MOST_MS = 15 * 60_000;

/**
 * Counted once for the namespace. A refusal that is final counts too, unlike that of a request: it is kept, and the API server takes bad
 * resources faster than anybody could send requests.
 * @returns the queued job, or the refusal that is kept in its place
 * @throws Failure that may be another the next time
 */
export async function createSubmitted(deps: ApiDeps, id: string, submission: Submission): Promise<JobRecord> {
  const { limits } = deps;
  const { store, clock, encryption } = deps.jobs;
  const { log } = deps.telemetry;
  const { tool } = submission;
  const client = namespaceClient(encryption, submission.namespace);
  const ids = oneJob(id);
  // A refusal by the limits is not stored: the resource may ask again.
  let isAdmitted = false;
  const admit = async (): Promise<Admitted> => {
    const share = await reserve(limits.limiter, client, { via: 'rest', jobs: [id], ...(tool === undefined ? {} : { tool }) });
    isAdmitted = true;
    const isRefunded = (error: unknown) => !isFinal(error) && REFUNDED_STATUSES.has(statusOf(error));
    return { client: client.key, share, refundAfter: refunding(share, log, isRefunded), idempotency: WITHOUT_KEY, log };
  };
  try {
    return await submit(deps, {
      ids,
      // The controller asks again.
      wait: NO_WAIT,
      admit,
      open: () => openSubmission(deps, ids, submission, client.key),
      answer: onlyRecord,
    });
  } catch (error) {
    if (!isAdmitted) throw error;
    const failure = failureOf(error, { log });
    if (!isFinal(failure)) throw failure;
    return (await store.create(refusedSubmission(id, clock(), submission, failure))).record;
  }
}

/** A server that does not answer may answer later, but a resource that asks again would do so for ever. */
function isFinal(error: unknown): boolean {
  const { code, retryable } = shownAs(error);
  return !retryable || code === 'URL_REFUSED';
}

/** No IP address looks like this, so that a namespace shares limits with no HTTP client, and no HTTP client can pass for a namespace. */
const namespaceClient = (encryption: Encryption, namespace: string): Client => ({
  key: encryption.hmac(`client\0namespace:${namespace}`).slice(0, 32),
  network: `namespace:${namespace}`,
  multiple: 1,
  bannable: true,
});

/** @throws Failure `INVALID_FORMAT`, `INVALID_OPTION`, `NOT_FOUND`, `NOT_IMPLEMENTED`, `OVERLOADED` */
function openSubmission(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>,
  ids: Ids,
  submission: Submission,
  client: string,
): { source: SubmitSource; work: SubmitWork } {
  const secrets = secretsOf(deps, submission);
  const fields = new Map(Object.entries(submission.options));
  if (secrets.password !== undefined) fields.set('password', secrets.password);
  if (submission.webhook !== undefined) fields.set(WEBHOOK_URL, submission.webhook.url);
  if (secrets.webhookSecret !== undefined) fields.set(WEBHOOK_SECRET, secrets.webhookSecret);
  if (secrets.destination !== undefined) {
    const { url, headers } = secrets.destination;
    fields.set(OUTPUT_URL, url);
    if (Object.keys(headers).length > 0) fields.set(OUTPUT_HEADERS, JSON.stringify(headers));
  }
  const tool = submission.tool === undefined ? undefined : findTool(deps, submission.tool);
  const { recipe } = submission;
  if (recipe !== undefined) fields.set('recipe', recipe);
  else if (tool === undefined) fields.set('to_format', submission.toFormat ?? '');

  const { id } = ids;
  const { source } = submission;
  const fetchFile = (signal: AbortSignal): Promise<ReceivedFile> =>
    tool?.takesPage === true
      ? storePage(deps, 'url' in source ? source.url : undefined, keyOf(ids, 0), signal)
      : receiveSource(deps, submission, secrets, keyOf(ids, 0), signal);
  // Recipes of the configuration are for clients of the API: a resource says its steps.
  const workOf = (): SubmitWork => {
    if (recipe !== undefined) return recipeWork(deps, ids, { named: {}, maxFiles: 1, client });
    return tool === undefined ? conversionWork(deps, ids) : toolWork(deps, ids, tool);
  };
  return {
    work: workOf(),
    source: {
      receive: async () => ({ fields, files: [], count: 1 }),
      async bring(sent, check) {
        check(sent);
        const file = await untilAborted(deps, id, MOST_MS, () => new Failure('OVERLOADED'), fetchFile);
        return { ...sent, files: [file] };
      },
    },
  };
}
