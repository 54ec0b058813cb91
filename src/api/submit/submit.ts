/** From a request to its answer: the stages that every request for jobs goes through, in their order (docs/decisions/0025). */
import { RevisionConflict } from '../../errors.ts';
import { BATCH_VERSION, type BatchRecord } from '../../jobs/batch.ts';
import type { ApiDeps } from '../deps.ts';
import { ownedInputs } from '../intake/inputs.ts';
import { keepAll } from '../intake/owned.ts';
import { createJobs } from './enqueue.ts';
import { planJobs } from './planned.ts';
import type { Admitted, FoundJobs, SubmitRequest, SubmittedJobs } from './stages.ts';

/** @throws Failure: the refusal; then nothing is left, and the client's share is refunded where no work was done */
export async function submit<T>(deps: ApiDeps, submission: SubmitRequest<T>): Promise<T> {
  const { admit, answer } = submission;
  const admitted = await admit();
  try {
    const found = await enter(deps, submission, admitted);
    const submitted = { isReplayed: false, waitedMs: 0, ...found, mayReturn: admitted.idempotency.hasKey };
    answer.log(submitted);
    return await answer.respond(await answer.wait(submitted));
  } catch (error) {
    if (admitted.isRefunded(error))
      await admitted.share.refund().catch((err: unknown) => admitted.log.warn({ err }, 'a reserved share could not be refunded'));
    throw error;
  }
}

/** @returns the queued jobs, or what an earlier request under the same key created; where it throws, nothing is left */
async function enter<T>(
  deps: ApiDeps,
  submission: SubmitRequest<T>,
  admitted: Admitted,
): Promise<FoundJobs & Partial<Pick<SubmittedJobs, 'waitedMs' | 'isReplayed'>>> {
  const { objects, clock } = deps;
  const { ids, open, answer } = submission;
  const { client, share } = admitted;
  // Each `await using` is undone at the end, in reverse order, unless the jobs were queued.
  await using idempotency = admitted.idempotency;
  const { source, work } = open();

  // Receive
  const sent = await source.receive(idempotency.isRepeated);
  await using inputs = ownedInputs(
    objects,
    sent.files.map(({ part }) => ids.keyOf(part)),
  );

  // Resolve: a repeated request is compared as it was sent, and brings no file again.
  const earlier = await idempotency.resolve(sent);
  if (earlier !== undefined) return { ...(await answer.find(earlier)), isReplayed: true };

  // Bring
  const brought = await source.bring(sent, work.check);
  inputs.add(brought.files.map(({ part }) => ids.keyOf(part)));

  // Plan
  const planned = planJobs(deps, ids, work, brought);
  await share.enlarge(planned.ids);

  // Validate
  const valid = await planned.validate();

  // Create
  const startedAt = performance.now();
  const batch: BatchRecord | undefined =
    ids.batch === undefined ? undefined : { version: BATCH_VERSION, id: ids.batch, createdAt: clock(), jobs: [...planned.ids] };
  const leaveInputs = (error: unknown): never => {
    // Another replica took this one for dead and created the very job: the files are that job's now.
    if (error instanceof RevisionConflict) inputs.keep();
    throw error;
  };
  await using created = await createJobs(deps, valid, batch).catch(leaveInputs);

  // Claim
  const winner = await idempotency.claim(ids.id, sent);
  if (winner !== undefined) return { ...(await answer.find(winner)), isReplayed: true };

  // Enqueue
  const keep = () => keepAll(idempotency, inputs, created);
  const find = () => answer.find(ids.id);
  const records = await planned.enqueue({ jobs: created.jobs, client, mayReturn: idempotency.hasKey, keep, find }).catch(leaveInputs);
  return { records, ...(batch === undefined ? {} : { batch }), waitedMs: performance.now() - startedAt };
}
