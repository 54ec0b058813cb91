/** From a submission to a queued job: the same limits, readers and routes as a request, around a source that is brought here. */
import { readInput, type Tool } from '../catalog/tool.ts';
import type { Submission } from '../contracts/submission.ts';
import { Failure } from '../errors.ts';
import type { JobRecord } from '../jobs/record.ts';
import { Conflict } from '../jobs/store.ts';
import type { Client } from '../limits/client.ts';
import type { Reservation } from '../limits/limiter.ts';
import { inputKey } from '../objects/keys.ts';
import { onAbort } from '../streams/abort.ts';
import { GIVEN_BACK, failureOf as refusalIn } from './door.ts';
import { enqueue } from './enqueue.ts';
import { storePage } from './page-request.ts';
import type { ApiParts } from './parts.ts';
import { failureOf } from './problem.ts';
import { onlyFile, type ReceivedFile } from './receive.ts';
import { refusedRecord } from './submission-refused.ts';
import { bringSource } from './submission-source.ts';
import { conversionOf, readWish } from './submit.ts';
import { toolJobOf } from './tool-job.ts';

/** A download has its own time limit; this one is for a store that hangs, ms. */
const MOST_MS = 15 * 60_000;

/**
 * Counted once for the namespace. What is refused for good counts too, unlike a request: its refusal is kept, and the API server takes bad
 * resources faster than anybody could send requests.
 * @returns the queued job, or the refusal that is kept in its place
 * @throws Failure that may be another the next time
 */
export async function makeSubmitted(parts: ApiParts, id: string, submission: Submission): Promise<JobRecord> {
  const { jobs, clock, limits, log } = parts;
  let reservation: Reservation | undefined;
  try {
    reservation = await admit(parts, id, submission);
    const tool = submission.tool === undefined ? undefined : findTool(parts, submission.tool);
    return await make(parts, id, submission, tool);
  } catch (error) {
    const failure = failureOf(error, { log });
    if (failure.retryable) {
      if (reservation !== undefined && GIVEN_BACK.has(failure.status)) await limits.limiter.refund(reservation);
      throw failure;
    }
    return (await jobs.create(refusedRecord(id, clock(), submission, failure))).record;
  }
}

/** @throws Failure `RATE_LIMITED`, `BANNED` */
async function admit({ limits, seal }: ApiParts, id: string, { namespace, tool }: Submission): Promise<Reservation> {
  const want = { via: 'rest', jobs: [id], ...(tool === undefined ? {} : { tool }) } as const;
  const decided = await limits.limiter.reserve(namespaceClient(seal, namespace), want);
  if (!decided.granted) throw refusalIn(decided);
  return decided.reservation;
}

/** No address reads like this, and it is hashed like every other: a namespace shares neither limits nor turns with HTTP clients, nor can be played by one. */
const namespaceClient = (seal: ApiParts['seal'], namespace: string): Client => ({
  key: seal.mark(`client\0namespace:${namespace}`).slice(0, 32),
  network: `namespace:${namespace}`,
  multiple: 1,
  bannable: true,
});

async function make(parts: ApiParts, id: string, submission: Submission, tool: Tool | undefined): Promise<JobRecord> {
  const { objects, metrics } = parts;
  const key = inputKey(id);
  // What is wrong with the wish is known before the source is touched.
  const begin = readerOf(parts, id, submission, tool);
  const file = await untilAborted(parts, id, (signal) =>
    begin.page
      ? storePage(parts, 'url' in submission.source ? submission.source.url : undefined, key, signal)
      : bringSource(parts, submission, key, signal),
  );
  metrics.uploaded(file.sizeBytes);
  try {
    return await enqueue(parts, await begin.record(file), namespaceClient(parts.seal, submission.namespace).key);
  } catch (error) {
    // Of a replica that thought us dead: the file is now its job's.
    if (!(error instanceof Conflict)) await objects.delete(key);
    throw error;
  }
}

interface Reader {
  /** The source is a web page: its URL is the file. */
  readonly page: boolean;
  readonly record: (file: ReceivedFile) => Promise<JobRecord>;
}

/** @throws Failure `INVALID_FORMAT`, `INVALID_OPTION` */
function readerOf(parts: ApiParts, id: string, { toFormat, options }: Submission, tool: Tool | undefined): Reader {
  const fields = new Map(Object.entries(options));
  const received = (file: ReceivedFile) => ({ fields, files: [file], count: 1 });
  if (tool !== undefined) {
    readInput(tool, fields);
    return { page: tool.takesPage === true, record: (file) => toolJobOf(parts, id, tool, received(file)) };
  }
  fields.set('to_format', toFormat ?? '');
  const wish = readWish(fields, 'interactive');
  return { page: false, record: (file) => conversionOf(parts, id, onlyFile(received(file)), wish) };
}

function findTool({ catalog }: ApiParts, slug: string): Tool {
  const tool = catalog.tools.get(slug);
  if (tool !== undefined) return tool;
  const reason = catalog.absent.get(slug)?.reason;
  if (reason === undefined) throw new Failure('NOT_FOUND', { says: 'There is no such tool; GET /api/v1/tools lists them.' });
  throw new Failure('NOT_IMPLEMENTED', { says: `The tool is not available here: ${reason}.`, details: { slug, reason } });
}

/** Ends the work when the resource is deleted, when this replica stops, and when it takes too long. */
async function untilAborted<T>({ signals, stopping }: ApiParts, id: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController();
  const leave = () => over.abort(new Failure('OVERLOADED', { says: 'The service is about to stop: try again in a moment.' }));
  const unhear = signals.onCancel(id, () => over.abort(new Failure('JOB_EXPIRED')));
  const late = setTimeout(() => over.abort(new Failure('OVERLOADED')), MOST_MS);
  const unsubscribe = onAbort(stopping, leave);
  try {
    return await work(over.signal);
  } catch (error) {
    throw over.signal.aborted ? over.signal.reason : error;
  } finally {
    clearTimeout(late);
    unhear();
    unsubscribe();
  }
}
