/** The result of a submission, put into a bucket of the client's own: each attempt once, whichever replicas are asked and however often. */
import type { S3Object, SubmissionAnswer, UploadEnd, UploadQuestion } from '../../contracts/messages/submission.ts';
import { Failure, RevisionConflict } from '../../errors.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { onAbort } from '../../streams/abort.ts';
import type { ApiDeps } from '../deps.ts';
import { writeToBucket } from './bucket.ts';
import { secretsOf } from './secrets.ts';

/** One that takes longer has failed, ms. */
const MOST_MS = 30 * 60_000;
const CAS_TRIES = 10;
/** As the answer takes of a sentence, characters. */
const LONGEST = 500;

/** @returns how this attempt ended, where it has; undefined where it is to be made @throws Failure `BAD_REQUEST` where there is no output */
export function endOf({ upload }: JobRecord, attempt: number): SubmissionAnswer | undefined {
  if (upload === undefined) return undefined;
  // What is there stays there, whichever attempt brought it.
  return upload.failed === undefined || upload.attempt >= attempt ? { upload } : undefined;
}

/** @throws Failure · what the store of jobs throws */
export async function uploadOutput(deps: ApiDeps, record: JobRecord, question: UploadQuestion): Promise<SubmissionAnswer> {
  const { output } = record;
  if (record.state !== 'done' || output === undefined)
    throw new Failure('BAD_REQUEST', { says: 'The job has no file to upload: a tool that answers with a text takes no output.' });
  const { key, prefix, ...bucket } = question.to;
  const to: S3Object = { ...bucket, key: key ?? `${prefix ?? ''}${keyFrom(output.filename)}` };
  let end: UploadEnd = { attempt: question.attempt, key: to.key };
  try {
    await upload(deps, record.id, output, to, question);
  } catch (error) {
    if (deps.stopping.aborted) throw error;
    end = { ...end, failed: sentence(error) };
  }
  await remember(deps, record.id, end);
  return { upload: end };
}

async function upload(
  deps: ApiDeps,
  id: string,
  { key, sizeBytes }: NonNullable<JobRecord['output']>,
  to: S3Object,
  question: UploadQuestion,
): Promise<void> {
  const over = new AbortController();
  const late = setTimeout(() => over.abort(new Failure('OVERLOADED', { says: 'it was not uploaded in time' })), MOST_MS);
  const unsubscribeStopping = onAbort(deps.stopping, (reason) => over.abort(reason));
  const unsubscribeCancel = deps.signals.onCancel(id, () => over.abort(new Failure('JOB_EXPIRED')));
  try {
    const { s3 } = secretsOf(deps, question);
    await writeToBucket(deps, to, s3, await deps.objects.get(key), sizeBytes, over.signal);
  } finally {
    clearTimeout(late);
    unsubscribeStopping();
    unsubscribeCancel();
  }
}

/** Others write the record too: it may be cancelled meanwhile. */
async function remember({ jobs }: ApiDeps, id: string, upload: UploadEnd): Promise<void> {
  for (let tries = 0; tries < CAS_TRIES; tries++) {
    const stored = await jobs.get(id);
    if (stored === undefined || stored.record.state !== 'done') return;
    try {
      await jobs.update({ ...stored.record, upload }, stored.revision);
      return;
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
}

const sentence = (error: unknown): string => (error instanceof Error ? error.message : 'the upload failed').slice(0, LONGEST);

/** What an object store takes of a file name. */
export function keyFrom(filename: string): string {
  const plain = filename.replace(/[^A-Za-z0-9._-]/g, '_').slice(-200);
  return /^\.{0,2}$/.test(plain) ? 'output' : plain;
}
