/** Checks that the bucket can be used, and creates it if it is missing, at the start or later. */

import type { S3Settings } from '../settings.ts';
import { type S3Call, S3Failure } from './call.ts';

const OTHER_REGION = 'it is in another region than the configured one';
/** What an operator can do about an answer, by S3's code. */
const ADVICE: Readonly<Record<string, string>> = {
  AccessDenied: 'these keys do not permit it; they need s3:ListBucket on it, and to read, write and delete its objects',
  NoCredentials:
    'no credentials were found; set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or see that the AWS default chain finds some (docs/cluster.md)',
  InvalidAccessKeyId: 'the access key does not exist',
  SignatureDoesNotMatch: 'the secret access key is wrong',
  PermanentRedirect: OTHER_REGION,
  AuthorizationHeaderMalformed: OTHER_REGION,
  IllegalLocationConstraintException: OTHER_REGION,
  BucketAlreadyExists: 'it belongs to another account; choose another name',
};

/** @throws an Error that names the bucket */
export async function ensureS3Bucket(call: S3Call, { bucket, region }: S3Settings): Promise<void> {
  try {
    // Not a HEAD: its answer has no body, so it would not say what is wrong.
    await call('list the bucket', (s3) => s3.listObjectsV2Query(bucket, '', '', '', 1, ''));
  } catch (error) {
    if (codeOf(error) !== 'NoSuchBucket') throw new Error(`The S3 bucket "${bucket}" cannot be used: ${why(error)}.`);
    await createBucket(call, bucket, region);
  }
}

/**
 * The same calls. Where one finds that the bucket is gone, as when a server comes back with an empty disk, it is created again for those that
 * follow: that call itself fails, since the objects are gone too.
 */
export function restoringBucket(call: S3Call, settings: S3Settings): S3Call {
  let isRestoring = false;
  const restore = async () => {
    if (isRestoring) return;
    isRestoring = true;
    // Whatever is wrong, the next call says it.
    await ensureS3Bucket(call, settings).catch(() => {});
    isRestoring = false;
  };
  return async (what, ask, signal) => {
    try {
      return await call(what, ask, signal);
    } catch (error) {
      if (codeOf(error) === 'NoSuchBucket') void restore();
      throw error;
    }
  };
}

async function createBucket(call: S3Call, bucket: string, region: string): Promise<void> {
  try {
    await call('create the bucket', (s3) => s3.makeBucket(bucket, region));
  } catch (error) {
    // Another process was faster.
    if (codeOf(error) === 'BucketAlreadyOwnedByYou') return;
    const reason = codeOf(error) === 'AccessDenied' ? 'these keys lack permissions; create it, or permit s3:CreateBucket' : why(error);
    throw new Error(`The S3 bucket "${bucket}" does not exist and could not be created: ${reason}.`);
  }
}

const codeOf = (error: unknown): string => (error instanceof S3Failure ? error.code : '');
const why = (error: unknown): string => ADVICE[codeOf(error)] ?? (error as Error).message;
