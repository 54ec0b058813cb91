/** From a request to its answer: the stages that every request for jobs goes through, in their order (docs/decisions/0025). */
import { RevisionConflict } from '../../errors.ts';
import { BATCH_VERSION, type BatchRecord } from '../../jobs/batch.ts';
import { hasEnded } from '../../jobs/lifecycle.ts';
import type { ApiDeps } from '../deps.ts';
import { deleteInputs, ownedInputs } from '../intake/inputs.ts';
import { keepAll } from '../intake/owned.ts';
import { createJobs, enqueueAll } from './enqueue.ts';
import { fetchEach, fetchOne } from './fetching.ts';
import type { Admitted, FoundJobs, SubmitRequest, SubmittedJobs } from './stages.ts';

/** @throws Failure: the refusal; then nothing is left, and the client's share is refunded where no work was done */
export async function submit<T>(deps: ApiDeps, submission: SubmitRequest<T>): Promise<T> {
  const { admit, answer } = submission;
  const admitted = await admit();
  try {
    const found = await enter(deps, submission, admitted);
    const submitted = { ...found, mayReturn: admitted.idempotency.hasKey, waitedMs: found.waitedMs ?? 0 };
    answer.log(submitted);
    return await answer.respond(await answer.wait(submitted));
  } catch (error) {
    if (admitted.isRefunded(error))
      await admitted.share.refund().catch((err: unknown) => admitted.log.warn({ err }, 'a reserved share could not be refunded'));
    throw error;
  }
}

/** @returns the queued jobs, or what an earlier request under the same key created; where it throws, nothing is left */
async function enter<T>(deps: ApiDeps, submission: SubmitRequest<T>, admitted: Admitted): Promise<FoundJobs & Partial<SubmittedJobs>> {
  const { objects, metrics, clock } = deps;
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
  if (earlier !== undefined) return await answer.find(earlier);

  // Bring: files that a job fetches come later, all others now.
  const brought = await source.bring(sent, work.check);
  const toFetch = 'urls' in brought ? brought : undefined;
  if ('files' in brought) {
    inputs.add(brought.files.map(({ part }) => ids.keyOf(part)));
    metrics.uploaded(brought.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  }

  // Validate
  const jobs = work.jobsOf(brought);
  // The first was admitted with the request.
  await share.enlarge(jobs.filter((job) => job !== ids.jobOf(0)));
  const drafts = toFetch === undefined ? [] : work.draft(toFetch);
  inputs.add(drafts.flatMap(({ urls, keyOf }) => urls.map((_, part) => keyOf(part))));
  const valid = 'files' in brought ? await work.validate(brought) : drafts.map(({ record }) => record);

  // Create
  const startedAt = performance.now();
  const batch: BatchRecord | undefined =
    ids.batch === undefined ? undefined : { version: BATCH_VERSION, id: ids.batch, createdAt: clock(), jobs: [...jobs] };
  const leaveInputs = (error: unknown): never => {
    // Another replica took this one for dead and created the very job: the files are that job's now.
    if (error instanceof RevisionConflict) inputs.keep();
    throw error;
  };
  await using created = await createJobs(deps, valid, batch).catch(leaveInputs);

  // Claim
  const winner = await idempotency.claim(ids.id, sent);
  if (winner !== undefined) return await answer.find(winner);

  // Enqueue: at once, or when the files were fetched.
  const keep = () => keepAll(idempotency, inputs, created);
  if (toFetch !== undefined) {
    const drafted = { jobs: created.jobs, drafts, toFetch, client, mayReturn: idempotency.hasKey, keep };
    const found =
      batch === undefined ? await fetchOne(deps, drafted) : await fetchEach(deps, { ...drafted, batch }, () => answer.find(ids.id));
    return { ...found, waitedMs: performance.now() - startedAt };
  }
  const records = await enqueueAll(deps, created, client).catch(leaveInputs);
  keep();
  // The files that were refused are read by no worker. Where this fails, upkeep does it later.
  for (const record of records) if (hasEnded(record)) await deleteInputs(objects, record).catch(() => undefined);
  return batch === undefined ? { records } : { records, batch };
}
