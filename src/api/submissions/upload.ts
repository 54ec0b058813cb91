/** The result of a submission, put into a bucket of the client's own: each attempt once, whichever replicas are asked and however often. */
import type { S3Object, SubmissionAnswer, UploadEnd, UploadQuestion } from '../../contracts/messages/submission.ts';
import { Failure } from '../../errors.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { updateRecord } from '../../jobs/update.ts';
import type { ApiDeps } from '../deps.ts';
import { untilAborted } from '../submit/until-aborted.ts';
import { writeToBucket } from './bucket.ts';
import { secretsOf } from './secrets.ts';

/** One that takes longer has failed, ms. */
const MOST_MS = 30 * 60_000;
/** Longest sentence in an answer, characters. */
const LONGEST = 500;

const tooLate = () => new Failure('OVERLOADED', { says: 'it was not uploaded in time' });

/** @returns how this attempt ended, where it has; undefined where it is to be made @throws Failure `BAD_REQUEST` where there is no output */
export function endOf({ upload }: JobRecord, attempt: number): SubmissionAnswer | undefined {
  if (upload === undefined) return undefined;
  // An output that was uploaded stays, whichever attempt uploaded it.
  return upload.failed === undefined || upload.attempt >= attempt ? { upload } : undefined;
}

/** @throws Failure · what the store of jobs throws */
export async function uploadOutput(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'service'>,
  record: JobRecord,
  question: UploadQuestion,
): Promise<SubmissionAnswer> {
  const { output } = record;
  if (record.state !== 'done' || output === undefined)
    throw new Failure('BAD_REQUEST', { says: 'The job has no file to upload: a tool that returns text does not support an output.' });
  const { key, prefix, ...bucket } = question.to;
  const to: S3Object = { ...bucket, key: key ?? `${prefix ?? ''}${keyFrom(output.filename)}` };
  let end: UploadEnd = { attempt: question.attempt, key: to.key };
  try {
    const { s3 } = secretsOf(deps, question);
    await untilAborted(deps, record.id, MOST_MS, tooLate, async (signal) =>
      writeToBucket(deps.files.privately, to, s3, await deps.files.objects.get(output.key), output.sizeBytes, signal),
    );
  } catch (error) {
    if (deps.service.stopping.aborted) throw error;
    end = { ...end, failed: sentence(error) };
  }
  // It may have been cancelled meanwhile.
  await updateRecord(deps.jobs.store, record.id, (stored) => (stored.state === 'done' ? { ...stored, upload: end } : undefined));
  return { upload: end };
}

const sentence = (error: unknown): string => (error instanceof Error ? error.message : 'the upload failed').slice(0, LONGEST);

/** What an object store takes of a file name. */
export function keyFrom(filename: string): string {
  const plain = filename.replace(/[^A-Za-z0-9._-]/g, '_').slice(-200);
  return /^\.{0,2}$/.test(plain) ? 'output' : plain;
}
