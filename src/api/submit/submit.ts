/** From a request to its answer, in one order for all: admit → receive → plan → record → enqueue → wait → answer (docs/decisions/0025). */
import { Failure, RevisionConflict } from '../../errors.ts';
import { BATCH_VERSION, type BatchRecord } from '../../jobs/batch.ts';
import { hasEnded } from '../../jobs/lifecycle.ts';
import { type JobRecord, sourceBytes } from '../../jobs/record.ts';
import type { ApiDeps } from '../deps.ts';
import { deleteInputs, type OwnedInputs, ownedInputs } from '../intake/inputs.ts';
import { keepAll } from '../intake/owned.ts';
import type { Received, ReceivedFile } from '../intake/receive.ts';
import { type FoundJobs, findBatch, findCreated } from '../jobs/found.ts';
import { reasonFor, refusedRecord } from '../jobs/refused.ts';
import { createJobs, enqueueAll } from './enqueue.ts';
import { draftOf, fetchEach, fetchOne } from './fetching.ts';
import {
  type Admitted,
  type FilePart,
  type Idempotency,
  type Ids,
  type JobPlan,
  keyOf,
  type SubmitRequest,
  type SubmittedJobs,
  type SubmitWork,
  type ToFetch,
} from './stages.ts';
import { startWait, untilAnswered, type Waiting, whileClientWaits } from './wait.ts';
import { followDestinations, judgeDestination, wantsDestination, workWithDestination } from './wanted/destination.ts';
import { withSignedSources } from './wanted/s3.ts';
import { followWebhooks, judgeWebhook, wantsWebhook, workWithWebhook } from './wanted/webhook.ts';

type SubmitDeps = Omit<ApiDeps, 'limits'>;

/** @throws Failure: the refusal; then nothing is left, and the client's share is refunded where no work was done */
export async function submit<T>(deps: SubmitDeps, request: SubmitRequest<T>): Promise<T> {
  // Admit
  const admitted = await request.admit();
  try {
    // Receive, plan, record, enqueue
    const { waiting, ...submitted } = await receive(deps, request, admitted);
    logReceived(admitted.log, submitted);
    if (!submitted.isReplayed) {
      followWebhooks(deps, submitted.records);
      followDestinations(deps, submitted.records);
    }
    // Wait
    const records = await untilAnswered(deps, submitted.records, waiting);
    // Answer
    return await request.answer({ ...submitted, records });
  } catch (error) {
    await admitted.refundAfter(error);
    throw error;
  }
}

/** The jobs of a request are queued, or an earlier request created them; their client waits. */
interface Submitted extends SubmittedJobs {
  readonly waiting: Waiting;
}

/** What the branches need of a request that was received. */
interface Submission {
  readonly ids: Ids;
  readonly admitted: Admitted;
  readonly idempotency: Idempotency;
  readonly work: SubmitWork;
  readonly sent: Received;
  /** The files that are stored for it. */
  readonly inputs: OwnedInputs;
  /** The client's wait begins. */
  readonly startWait: () => Waiting;
}

/** Where it throws, nothing is left: each `await using` is undone at the end, in reverse order, unless the jobs were queued. */
async function receive<T>(deps: SubmitDeps, { ids, wait, open }: SubmitRequest<T>, admitted: Admitted): Promise<Submitted> {
  await using idempotency = admitted.idempotency;
  const { source, work: wanted } = open();
  const work = workWithDestination(deps, workWithWebhook(deps, wanted, admitted), admitted);

  // Receive
  const sent = await source.receive(idempotency.isRepeated);
  await using inputs = ownedInputs(
    deps.files.objects,
    sent.files.map(({ part }) => keyOf(ids, part)),
  );
  // A client that is sent its job or its result may leave: it learns of what it has begun.
  const learns = wantsWebhook(sent.fields) || wantsDestination(sent.fields);
  const begin = () => startWait(wait, { hasIdempotencyKey: idempotency.hasIdempotencyKey || learns });
  const submission: Submission = { ids, admitted, idempotency, work, sent, inputs, startWait: begin };
  // A repeated request is compared as it was sent, and brings no file again.
  const earlier = await idempotency.resolve(sent);
  if (earlier !== undefined) return await replay(deps, submission, earlier);
  await judgeWebhook(deps, sent.fields, admitted);
  await judgeDestination(deps, sent.fields, admitted);
  const brought = await source.bring(await withSignedSources(deps, sent, admitted), work.check);
  inputs.add(brought.files.map(({ part }) => keyOf(ids, part)));

  return 'fetches' in brought ? await submitUrls(deps, submission, brought) : await submitFiles(deps, submission, brought);
}

/** The files are here: they are judged before there are records, and a worker may begin at once. */
async function submitFiles(deps: SubmitDeps, submission: Submission, brought: Received): Promise<Submitted> {
  const { ids, admitted, idempotency, work, sent, inputs } = submission;
  const { jobs, files, telemetry } = deps;
  telemetry.metrics.uploaded(brought.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));

  // Plan
  const plans = work.plan(brought);
  await enlargeShare(admitted, plans);
  const planned: JobRecord[] = [];
  // One after the other: the client reads about the first file that is refused.
  for (const plan of plans) planned.push(await recordOf(plan, jobs.clock()));

  // Record
  const waiting = submission.startWait();
  const batch = batchOf(ids, plans, jobs.clock());
  await using created = await createJobs(deps, planned, batch).catch(leaving(inputs));
  const winner = await idempotency.claim(ids.id, sent);
  if (winner !== undefined) return await replay(deps, submission, winner);

  // Enqueue
  const records = await enqueueAll(deps, created, admitted.client).catch(leaving(inputs));
  keepAll(idempotency, inputs, created);
  // The files that were refused are read by no worker. Where this fails, upkeep does it later.
  for (const record of records) if (hasEnded(record)) await deleteInputs(files.objects, record).catch(() => undefined);
  return { records, ...(batch === undefined ? {} : { batch }), isReplayed: false, waiting };
}

/** The record of a job whose files are here. @throws Failure: the refusal, unless it fails the job alone */
async function recordOf(plan: JobPlan<ReceivedFile>, now: number): Promise<JobRecord> {
  try {
    return await plan.validate(plan.files);
  } catch (error) {
    const [file] = plan.files;
    // An option is the same for all jobs of a request.
    const reason = error instanceof Failure && error.code !== 'INVALID_OPTION' ? reasonFor(error) : undefined;
    if (!(error instanceof Failure) || reason === undefined || file === undefined || plan.failsAlone !== true) throw error;
    const { part, sizeBytes, filename } = file;
    const about = { ...plan.known, filename, sources: [{ part, sizeBytes, format: 'unknown' }] };
    return refusedRecord(plan.id, now, about, { reason, message: error.message, details: error.details });
  }
}

/** The files are to be fetched: the records come first, and each job is judged and enqueued once its files are here (docs/decisions/0031). */
async function submitUrls(deps: SubmitDeps, submission: Submission, brought: ToFetch): Promise<Submitted> {
  const { ids, admitted, idempotency, work, sent, inputs } = submission;
  const { jobs } = deps;
  const { client } = admitted;

  // Plan
  const plans = work.plan(brought);
  await enlargeShare(admitted, plans);
  const drafts = plans.map((plan) => draftOf(plan, jobs.clock()));

  // Record
  const waiting = submission.startWait();
  const batch = batchOf(ids, plans, jobs.clock());
  await using created = await createJobs(deps, drafts, batch).catch(leaving(inputs));
  const winner = await idempotency.claim(ids.id, sent);
  if (winner !== undefined) return await replay(deps, submission, winner);

  // Enqueue
  const fetchings = created.jobs.flatMap((job, at) => (plans[at] === undefined ? [] : { job, plan: plans[at], ids, client }));
  if (batch === undefined) {
    const records = await fetchOne(deps, fetchings, brought.fetches, waiting).catch(leaving(inputs));
    keepAll(idempotency, inputs, created);
    return { records, isReplayed: false, waiting };
  }
  const fetched = fetchEach(deps, fetchings, brought.fetches, client);
  keepAll(idempotency, inputs, created);
  // Meanwhile its client alone knows the batch's id.
  await whileClientWaits(fetched.ended, waiting, () => waiting.hasIdempotencyKey || fetched.cancel());
  const records = waiting.gone.aborted ? created.jobs.map(({ stored }) => stored.record) : (await findBatch(deps, batch.id)).records;
  return { records, batch, isReplayed: false, waiting };
}

/** @throws Failure `RATE_LIMITED` */
const enlargeShare = (
  { share }: Pick<Admitted, 'share'>,
  plans: readonly Pick<JobPlan<FilePart>, 'id' | 'cost' | 'tools'>[],
): Promise<void> =>
  share.enlarge(
    plans.flatMap(({ id, cost = 1 }) => Array<string>(cost).fill(id)),
    plans.flatMap(({ tools = [] }) => tools),
  );

/** What an earlier request under the same key created. */
async function replay(deps: SubmitDeps, { startWait: start }: Submission, id: string): Promise<Submitted> {
  return { ...(await findCreated(deps, id)), isReplayed: true, waiting: start() };
}

const batchOf = ({ batch }: Ids, plans: readonly { readonly id: string }[], createdAt: number): BatchRecord | undefined =>
  batch === undefined ? undefined : { version: BATCH_VERSION, id: batch, createdAt, jobs: plans.map(({ id }) => id) };

/** Another replica took this one for dead and created the very job: the files are that job's now. */
const leaving =
  (inputs: OwnedInputs) =>
  (error: unknown): never => {
    if (error instanceof RevisionConflict) inputs.keep();
    throw error;
  };

function logReceived(log: Admitted['log'], { batch, records }: FoundJobs): void {
  if (batch !== undefined) log.info({ batch_id: batch.id, files: records.length }, 'a batch was received');
  else
    for (const { id, tool, sources } of records) {
      const about = { job_id: id, ...(tool === undefined ? {} : { tool: tool.slug }), bytes: sourceBytes({ sources }) };
      log.info(about, tool === undefined ? 'a file was received' : 'files were received');
    }
}
