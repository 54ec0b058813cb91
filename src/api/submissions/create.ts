/** From a submission to a queued job: the same limits, readers and routes as a request, around a source that is brought here. */
import { readInput, type Tool } from '../../catalog/tool.ts';
import type { Submission } from '../../contracts/messages/submission.ts';
import { Failure, RevisionConflict } from '../../errors.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { Client } from '../../limits/client.ts';
import type { Reservation } from '../../limits/limiter.ts';
import { inputKey } from '../../objects/keys.ts';
import { onAbort } from '../../streams/abort.ts';
import { REFUNDED_STATUSES, failureOf as refusalIn } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { failureOf } from '../http/problem.ts';
import { storePage } from '../intake/page.ts';
import { onlyFile, type ReceivedFile } from '../intake/receive.ts';
import { conversionOf, readRequestOptions } from '../jobs/conversion.ts';
import { enqueue } from '../jobs/enqueue.ts';
import { toolJobOf } from '../tools/job.ts';
import { refusedRecord } from './refused.ts';
import { secretsOf } from './secrets.ts';
import { receiveSource } from './source.ts';

/** A download has its own time limit; this one is for a store that hangs, ms. */
const MOST_MS = 15 * 60_000;

/**
 * Counted once for the namespace. What is refused for good counts too, unlike a request: its refusal is kept, and the API server takes bad
 * resources faster than anybody could send requests.
 * @returns the queued job, or the refusal that is kept in its place
 * @throws Failure that may be another the next time
 */
export async function createSubmitted(deps: ApiDeps, id: string, submission: Submission): Promise<JobRecord> {
  const { jobs, clock, limits, log } = deps;
  let reservation: Reservation | undefined;
  try {
    reservation = await admit(deps, id, submission);
    const tool = submission.tool === undefined ? undefined : findTool(deps, submission.tool);
    return await make(deps, id, submission, tool);
  } catch (error) {
    const failure = failureOf(error, { log });
    if (failure.retryable) {
      if (reservation !== undefined && REFUNDED_STATUSES.has(failure.status)) await limits.limiter.refund(reservation);
      throw failure;
    }
    return (await jobs.create(refusedRecord(id, clock(), submission, failure))).record;
  }
}

/** @throws Failure `RATE_LIMITED`, `BANNED` */
async function admit({ limits, encryption }: ApiDeps, id: string, { namespace, tool }: Submission): Promise<Reservation> {
  const want = { via: 'rest', jobs: [id], ...(tool === undefined ? {} : { tool }) } as const;
  const decided = await limits.limiter.reserve(namespaceClient(encryption, namespace), want);
  if (!decided.granted) throw refusalIn(decided);
  return decided.reservation;
}

/** No address reads like this, and it is hashed like every other: a namespace shares neither limits nor turns with HTTP clients, nor can be played by one. */
const namespaceClient = (encryption: ApiDeps['encryption'], namespace: string): Client => ({
  key: encryption.hmac(`client\0namespace:${namespace}`).slice(0, 32),
  network: `namespace:${namespace}`,
  multiple: 1,
  bannable: true,
});

async function make(deps: ApiDeps, id: string, submission: Submission, tool: Tool | undefined): Promise<JobRecord> {
  const { objects, metrics } = deps;
  const key = inputKey(id);
  const secrets = secretsOf(deps, submission);
  // What is wrong with the wish is known before the source is touched.
  const begin = readerOf(deps, id, submission, secrets.password, tool);
  const file = await untilAborted(deps, id, (signal) =>
    begin.page
      ? storePage(deps, 'url' in submission.source ? submission.source.url : undefined, key, signal)
      : receiveSource(deps, submission, secrets, key, signal),
  );
  metrics.uploaded(file.sizeBytes);
  try {
    return await enqueue(deps, await begin.record(file), namespaceClient(deps.encryption, submission.namespace).key);
  } catch (error) {
    // Of a replica that thought us dead: the file is now its job's.
    if (!(error instanceof RevisionConflict)) await objects.delete(key);
    throw error;
  }
}

interface Reader {
  /** The source is a web page: its URL is the file. */
  readonly page: boolean;
  readonly record: (file: ReceivedFile) => Promise<JobRecord>;
}

/** @throws Failure `INVALID_FORMAT`, `INVALID_OPTION` */
function readerOf(
  deps: ApiDeps,
  id: string,
  { toFormat, options }: Submission,
  password: string | undefined,
  tool: Tool | undefined,
): Reader {
  const fields = new Map(Object.entries(options));
  if (password !== undefined) fields.set('password', password);
  const received = (file: ReceivedFile) => ({ fields, files: [file], count: 1 });
  if (tool !== undefined) {
    readInput(tool, fields);
    return { page: tool.takesPage === true, record: (file) => toolJobOf(deps, id, tool, received(file)) };
  }
  fields.set('to_format', toFormat ?? '');
  const requestOptions = readRequestOptions(fields, 'interactive');
  return { page: false, record: (file) => conversionOf(deps, id, onlyFile(received(file)), requestOptions) };
}

function findTool({ catalog }: ApiDeps, slug: string): Tool {
  const tool = catalog.tools.get(slug);
  if (tool !== undefined) return tool;
  const reason = catalog.absent.get(slug)?.reason;
  if (reason === undefined) throw new Failure('NOT_FOUND', { says: 'There is no such tool; GET /api/v1/tools lists them.' });
  throw new Failure('NOT_IMPLEMENTED', { says: `The tool is not available here: ${reason}.`, details: { slug, reason } });
}

/** Ends the work when the resource is deleted, when this replica stops, and when it takes too long. */
async function untilAborted<T>({ signals, stopping }: ApiDeps, id: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController();
  const leave = () => over.abort(new Failure('OVERLOADED', { says: 'The service is about to stop: try again in a moment.' }));
  const unsubscribeCancel = signals.onCancel(id, () => over.abort(new Failure('JOB_EXPIRED')));
  const late = setTimeout(() => over.abort(new Failure('OVERLOADED')), MOST_MS);
  const unsubscribeStopping = onAbort(stopping, leave);
  try {
    return await work(over.signal);
  } catch (error) {
    throw over.signal.aborted ? over.signal.reason : error;
  } finally {
    clearTimeout(late);
    unsubscribeCancel();
    unsubscribeStopping();
  }
}
