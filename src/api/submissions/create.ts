/** From a submission to a queued job: the same steps as a request's, with a source that is fetched or copied. */
import { readInput } from '../../catalog/tool.ts';
import type { Submission } from '../../contracts/messages/submission.ts';
import { Failure, RevisionConflict } from '../../errors.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { Client } from '../../limits/client.ts';
import type { Reservation } from '../../limits/limiter.ts';
import { inputKey } from '../../objects/keys.ts';
import { REFUNDED_STATUSES, failureOf as refusalIn } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { failureOf } from '../http/problem.ts';
import { ownedInputs } from '../intake/inputs.ts';
import { keepAll } from '../intake/owned.ts';
import { storePage } from '../intake/page.ts';
import { onlyFile, type ReceivedFile } from '../intake/receive.ts';
import { readRequestOptions, validateConversion } from '../submit/conversion.ts';
import { createJob, enqueue } from '../submit/enqueue.ts';
import { validateTool } from '../submit/tool.ts';
import { untilAborted } from '../submit/until-aborted.ts';
import { findTool } from '../tools/find.ts';
import { refusedRecord } from './refused.ts';
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
  const { jobs, clock, limits, encryption, log } = deps;
  const client = namespaceClient(encryption, submission.namespace);
  const reservation = await admit(deps, id, submission, client);
  try {
    return await submit(deps, id, submission, client);
  } catch (error) {
    const failure = failureOf(error, { log });
    // A server that does not answer may answer later, but a resource that asks again would do so for ever.
    if (!failure.retryable || failure.code === 'URL_REFUSED')
      return (await jobs.create(refusedRecord(id, clock(), submission, failure))).record;
    if (REFUNDED_STATUSES.has(failure.status)) await limits.limiter.refund(reservation);
    throw failure;
  }
}

/** @returns the queued job; where it throws, nothing is left */
async function submit(deps: ApiDeps, id: string, submission: Submission, client: Client): Promise<JobRecord> {
  const { objects, metrics } = deps;
  const key = inputKey(id);
  const secrets = secretsOf(deps, submission);
  // What needs no file is validated before the source is fetched.
  const validator = validatorOf(deps, id, submission, secrets.password);

  const file = await untilAborted(
    deps,
    id,
    MOST_MS,
    () => new Failure('OVERLOADED'),
    (signal) =>
      validator.page
        ? storePage(deps, 'url' in submission.source ? submission.source.url : undefined, key, signal)
        : receiveSource(deps, submission, secrets, key, signal),
  );
  metrics.uploaded(file.sizeBytes);
  await using inputs = ownedInputs(objects, [key]);

  const valid = await validator.validate(file);

  // Another replica took this one for dead and created the job: the file is now that job's.
  const leaveInputs = (error: unknown): never => {
    if (error instanceof RevisionConflict) inputs.keep();
    throw error;
  };
  await using created = await createJob(deps, valid).catch(leaveInputs);
  const record = await enqueue(deps, created, client.key).catch(leaveInputs);
  keepAll(inputs, created);
  return record;
}

/** @throws Failure `RATE_LIMITED`, `BANNED` */
async function admit({ limits }: ApiDeps, id: string, { tool }: Submission, client: Client): Promise<Reservation> {
  const want = { via: 'rest', jobs: [id], ...(tool === undefined ? {} : { tool }) } as const;
  const decided = await limits.limiter.reserve(client, want);
  if (!decided.granted) throw refusalIn(decided);
  return decided.reservation;
}

/** No address reads like this: a namespace shares limits with no HTTP client, and no HTTP client can pass for a namespace. */
const namespaceClient = (encryption: ApiDeps['encryption'], namespace: string): Client => ({
  key: encryption.hmac(`client\0namespace:${namespace}`).slice(0, 32),
  network: `namespace:${namespace}`,
  multiple: 1,
  bannable: true,
});

interface Validator {
  /** The source is a web page: its URL is the file. */
  readonly page: boolean;
  readonly validate: (file: ReceivedFile) => Promise<JobRecord>;
}

/** @throws Failure `INVALID_FORMAT`, `INVALID_OPTION`, `NOT_FOUND`, `NOT_IMPLEMENTED`, `OVERLOADED` */
function validatorOf(deps: ApiDeps, id: string, { tool: slug, toFormat, options }: Submission, password: string | undefined): Validator {
  const fields = new Map(Object.entries(options));
  if (password !== undefined) fields.set('password', password);
  const received = (file: ReceivedFile) => ({ fields, files: [file], count: 1 });
  if (slug !== undefined) {
    const tool = findTool(deps, slug);
    readInput(tool, fields);
    return { page: tool.takesPage === true, validate: (file) => validateTool(deps, id, tool, received(file)) };
  }
  fields.set('to_format', toFormat ?? '');
  const requestOptions = readRequestOptions(fields, 'interactive');
  return { page: false, validate: (file) => validateConversion(deps, id, onlyFile(received(file)), requestOptions) };
}
