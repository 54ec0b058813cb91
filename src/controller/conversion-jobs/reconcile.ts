/** Reconciles one ConversionJob as far as possible now: carries out the steps of `decide`, and writes the API's answers into the status. */

import type { Job } from '../../contracts/api/job.ts';
import type { ConversionJobStatus } from '../../contracts/kubernetes/conversion-job.ts';
import type { SubmissionAnswer } from '../../contracts/messages/submission.ts';
import type { Kube } from '../../kube/connection/connect.ts';
import { type Recorder, regarding } from '../../kube/events.ts';
import { type KubeObject, objectKey } from '../../kube/resource.ts';
import { type Ask, isCancelled } from './ask.ts';
import { askAgainAfterMs, nextStep, secretAgainAfterMs, uploadAgainAfterMs } from './decide.ts';
import { eventDraftOf } from './events.ts';
import { CONVERSION_JOBS, type ConversionJobObject, FINALIZER, MANAGER } from './resource.ts';
import type { ReadSecrets, SecretProblem } from './secrets.ts';
import { expired, isFetchingSource, isNews, notUploaded, pending, statusAfter, uploaded, uploading } from './status.ts';
import type { JobTurns, Wait } from './turns.ts';

export interface ConversionJobReconcileDeps {
  readonly kube: Kube;
  readonly recorder: Recorder;
  readonly ask: Ask;
  readonly secrets: ReadSecrets;
  /** Ms after the first upload that failed, the second and so on. */
  readonly uploadPausesMs?: readonly number[] | undefined;
  readonly turns: JobTurns;
  /** Ms since the epoch. */
  readonly clock: () => number;
  /** How many unfinished resources the API is asked about. */
  readonly unfinished: () => number;
}

type Again = { readonly againAfterMs: number } | undefined;

/** Most steps of one reconciliation. The longest sequence is shorter: removing an earlier version's finalizer, request, end, removal. */
const MOST_STEPS = 6;
/** How soon a cancellation that failed is tried again, ms. */
const CANCEL_AGAIN_MS = 1_000;
/** Refusals that apply to everything that its namespace submits. */
const OF_ALL: ReadonlySet<string> = new Set(['RATE_LIMITED', 'BANNED']);

/** @returns when to reconcile again, unless it changes before @throws KubeError */
export async function reconcileConversionJob(
  deps: ConversionJobReconcileDeps,
  seen: ConversionJobObject,
  signal: AbortSignal,
): Promise<Again> {
  let job = seen;
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    const step = nextStep(job, deps.clock());
    switch (step.is) {
      case 'rest':
        return step.forMs === undefined ? undefined : { againAfterMs: step.forMs };
      case 'release':
        job = await release(deps, job, signal);
        break;
      case 'remove':
        await deps.kube.remove(CONVERSION_JOBS, job.metadata, { uid: job.metadata.uid }, { signal });
        return undefined;
      case 'expire':
        job = await write(deps, job, expired(job, new Date(deps.clock())), signal);
        break;
      case 'ask': {
        const outcome = await (step.question === 'cancel' ? cancel(deps, job, signal) : submit(deps, job, step.question, signal));
        if ('againAfterMs' in outcome) return outcome;
        job = outcome.job;
      }
    }
  }
  return { againAfterMs: CANCEL_AGAIN_MS };
}

type Outcome = { readonly job: ConversionJobObject } | { readonly againAfterMs: number };

async function submit(
  deps: ConversionJobReconcileDeps,
  job: ConversionJobObject,
  question: 'convert' | 'look',
  signal: AbortSignal,
): Promise<Outcome> {
  const { turns, clock } = deps;
  const { namespace = '' } = job.metadata;
  const key = objectKey(job);
  // One whose source is being fetched has been admitted.
  const needsTurn = question === 'convert' && !isFetchingSource(job);
  const wait = needsTurn ? turns.wait(namespace, key) : undefined;
  if (wait !== undefined) {
    await writeWait(deps, job, wait, signal);
    return { againAfterMs: wait.ms };
  }
  const leave = needsTurn ? turns.take(namespace, key) : () => {};
  const answer = await askOrHold(deps, job, question, signal).finally(leave);
  if ('reason' in answer) return awaitSecret(deps, job, answer, signal);
  const retryMs = retryMsOf(answer);

  if ('data' in answer && answer.data.status === 'done' && job.spec.output !== undefined) return upload(deps, job, answer.data, signal);
  const status = statusAfter(job, answer, new Date(clock()));
  const written = isNews(job.status, status) ? await write(deps, job, status, signal) : job;
  if (status.completionTime !== undefined) return { job: written };
  return { againAfterMs: Math.max(retryMs, askAgainAfterMs(ageOf(deps, job), deps.unfinished())) };
}

/** Asks when it is the resource's turn: no Secret is read before, and a refusal of the whole namespace applies before the next turn begins. */
async function askOrHold(
  { ask, secrets: read, turns }: ConversionJobReconcileDeps,
  job: ConversionJobObject,
  question: 'convert' | 'look',
  signal: AbortSignal,
): Promise<SubmissionAnswer | SecretProblem> {
  const secrets = question === 'convert' ? await read(job, 'source', signal) : undefined;
  if (secrets !== undefined && 'reason' in secrets) return secrets;
  const answer = await ask(question, job, secrets);
  if ('error' in answer && OF_ALL.has(answer.error.code)) turns.hold(job.metadata.namespace ?? '', retryMsOf(answer), answer.error);
  return answer;
}

const retryMsOf = (answer: SubmissionAnswer): number => ('error' in answer ? (answer.retry_after ?? 0) * 1_000 : 0);

/** The Secret may be created or annotated in a moment: resources applied together arrive in any order. */
async function awaitSecret(
  deps: ConversionJobReconcileDeps,
  job: ConversionJobObject,
  { reason, message }: SecretProblem,
  signal: AbortSignal,
): Promise<Outcome> {
  const status = pending(job, new Date(deps.clock()), reason, message);
  if (isNews(job.status, status)) await write(deps, job, status, signal);
  return { againAfterMs: secretAgainAfterMs(ageOf(deps, job)) };
}

/** @param result the job, which is done */
async function upload(deps: ConversionJobReconcileDeps, seen: ConversionJobObject, result: Job, signal: AbortSignal): Promise<Outcome> {
  const { ask, clock, uploadPausesMs } = deps;
  const now = new Date(clock());
  const { failures = 0, nextTime } = seen.status?.upload ?? {};
  const waitsMs = nextTime === undefined ? 0 : Date.parse(nextTime) - now.getTime();
  if (waitsMs > 0) return { againAfterMs: waitsMs };

  const secrets = await deps.secrets(seen, 'output', signal);
  const problem = secrets !== undefined && 'reason' in secrets ? secrets : undefined;
  const begun = uploading(seen, result, now, problem);
  const job = isNews(seen.status, begun) ? await write(deps, seen, begun, signal) : seen;
  if (secrets === undefined || 'reason' in secrets) return { againAfterMs: secretAgainAfterMs(ageOf(deps, job)) };

  const answer = await ask('upload', job, { ...secrets, attempt: failures + 1 });
  if ('upload' in answer) {
    const { failed, key } = answer.upload;
    const again = uploadAgainAfterMs(failures + 1, uploadPausesMs);
    const status = failed === undefined ? uploaded(job, result, now, key) : notUploaded(job, result, now, failed, again);
    const written = await write(deps, job, status, signal);
    return status.completionTime === undefined ? { againAfterMs: again ?? 0 } : { job: written };
  }
  if ('error' in answer && !answer.error.details.retryable) {
    const status = statusAfter(job, answer, now);
    return { job: await write(deps, job, status, signal) };
  }
  return { againAfterMs: askAgainAfterMs(ageOf(deps, job), deps.unfinished()) };
}

const ageOf = ({ clock }: ConversionJobReconcileDeps, { metadata: { creationTimestamp = '' } }: ConversionJobObject): number =>
  clock() - (Date.parse(creationTimestamp) || clock());

async function writeWait(
  deps: ConversionJobReconcileDeps,
  job: ConversionJobObject,
  { refusal }: Wait,
  signal: AbortSignal,
): Promise<void> {
  const { code, message } = refusal ?? { code: 'Waiting', message: 'Other ConversionJobs of this namespace go first.' };
  const status = pending(job, new Date(deps.clock()), code, message);
  // Turns change too often to write each one.
  if (job.status?.phase === undefined || (refusal !== undefined && isNews(job.status, status))) await write(deps, job, status, signal);
}

async function cancel(deps: ConversionJobReconcileDeps, job: ConversionJobObject, signal: AbortSignal): Promise<Outcome> {
  const answer = await deps.ask('cancel', job);
  return isCancelled(answer) ? { job: await release(deps, job, signal) } : { againAfterMs: CANCEL_AGAIN_MS };
}

/** Others may have finalizers there too, and their later writes must not be overwritten. @throws KubeError `Conflict` */
async function release({ kube }: ConversionJobReconcileDeps, job: ConversionJobObject, signal: AbortSignal): Promise<ConversionJobObject> {
  const { uid, resourceVersion, finalizers = [] } = job.metadata;
  const patch = { metadata: { uid, resourceVersion, finalizers: finalizers.filter((name) => name !== FINALIZER) } };
  return await kube.patch<ConversionJobObject>(CONVERSION_JOBS, job.metadata, patch, {}, { signal });
}

/** @throws KubeError `Conflict` when our copy is old: our own last write may not have reached the mirror yet */
async function write(
  { kube, recorder }: ConversionJobReconcileDeps,
  job: ConversionJobObject,
  status: ConversionJobStatus,
  signal: AbortSignal,
) {
  const { name, namespace, uid = '', resourceVersion } = job.metadata;
  const metadata = {
    name,
    namespace,
    uid,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  const applied: KubeObject & Pick<ConversionJobObject, 'status'> = { metadata, status };
  const written = await kube.apply(CONVERSION_JOBS, applied, { manager: MANAGER, subresource: 'status' }, { signal });
  const draft = eventDraftOf(job.status, status);
  if (draft !== undefined) recorder.record({ ...draft, regarding: regarding(CONVERSION_JOBS, job.metadata) });
  return written as ConversionJobObject;
}
