/** Clients' own buckets: sources are read from them and results written to them, over connections that are checked like those of downloads. */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { S3Bucket, S3Object, SubmissionSecrets } from '../../contracts/messages/submission.ts';
import { Failure, fileTooLarge } from '../../errors.ts';
import { limitedBody } from '../../fetch/download/body.ts';
import type { PrivateFetch } from '../../fetch/private.ts';
import { urlRefused } from '../../fetch/refusal.ts';
import { type S3Call, S3Failure, s3Calls } from '../../objects/s3/call.ts';
import { putTo } from '../../objects/s3/put.ts';
import { Missing, StoreFull, Unreachable } from '../../objects/store.ts';
import { startDeadline } from '../../streams/deadline.ts';

/** For one request and its answer, ms: long enough for a part of 5 MiB. */
const CALL_MS = 60_000;

type Credentials = SubmissionSecrets['s3'];

/**
 * @param privately undefined where nothing is fetched
 * @returns the object's content; destroy it when it is not read to its end
 * @throws Failure `URL_REFUSED`, `NOT_FOUND`, `FILE_TOO_LARGE`, `BAD_REQUEST` · the reason of `signal`
 */
export async function readFromBucket(
  privately: PrivateFetch | undefined,
  { key, ...bucket }: S3Object,
  credentials: Credentials,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Readable> {
  const { settings } = reachable(privately);
  const call = callsTo(privately, bucket, credentials);
  const deadline = startDeadline(settings.totalMs, signal, () => urlRefused('unreachable', { says: 'The object was not read in time.' }));
  try {
    const response = (await call('read the source', (s3) => s3.getObject(bucket.bucket, key), deadline.signal)) as IncomingMessage;
    const bytes = Number(response.headers['content-length'] ?? 0);
    if (bytes > maxBytes) {
      response.destroy();
      throw fileTooLarge(maxBytes, bytes);
    }
    const { idleMs, minBytesPerSecond } = settings;
    return limitedBody(response, { maxBytes, idleMs, minBytesPerSecond }, deadline);
  } catch (error) {
    deadline.stop();
    if (error instanceof Missing)
      throw new Failure('NOT_FOUND', { says: 'There is no such object in the bucket.', details: { field: 'source.s3.key' }, cause: error });
    if (error instanceof S3Failure && error.code === 'NoSuchBucket')
      throw new Failure('NOT_FOUND', { says: 'There is no such bucket.', details: { field: 'source.s3.bucket' }, cause: error });
    if (error instanceof Unreachable)
      throw urlRefused('unreachable', { says: `The source could not be read from the bucket: ${words(error)}.`, cause: error });
    throw error;
  }
}

/** @throws Error whose message says why, without names, addresses or keys · the reason of `signal` */
export async function writeToBucket(
  privately: PrivateFetch | undefined,
  { key, ...bucket }: S3Object,
  credentials: Credentials,
  content: Readable,
  maxBytes: number,
  signal: AbortSignal,
): Promise<void> {
  const put = putTo(callsTo(privately, bucket, credentials), bucket.bucket, new Map());
  try {
    await put(key, content, maxBytes, signal);
  } catch (error) {
    if (error instanceof S3Failure) throw new Error(words(error), { cause: error });
    if (error instanceof StoreFull) throw new Error('no space is left there', { cause: error });
    throw error;
  } finally {
    content.destroy();
  }
}

function callsTo(privately: PrivateFetch | undefined, bucket: S3Bucket, credentials: Credentials): S3Call {
  const { connect } = reachable(privately);
  if (credentials === undefined) throw new Failure('BAD_REQUEST', { says: 'The submission has no credentials for its bucket.' });
  const { endpoint, region, bucket: name, forcePathStyle: pathStyle } = bucket;
  return s3Calls({ endpoint, region, bucket: name, pathStyle, ...credentials }, CALL_MS, connect);
}

/** @throws Failure `URL_REFUSED` */
export function reachable(privately: PrivateFetch | undefined): PrivateFetch {
  if (privately !== undefined) return privately;
  throw new Failure('URL_REFUSED', { says: 'Fetching by URL is disabled on this service.', details: { reason: 'scheme' } });
}

/** By S3's code (API reference, "Error responses"), what its owner can do about it. */
const ADVICE: Readonly<Record<string, string>> = {
  AccessDenied: 'its keys do not permit it (AccessDenied)',
  InvalidAccessKeyId: 'the access key does not exist (InvalidAccessKeyId)',
  SignatureDoesNotMatch: 'the secret access key is wrong (SignatureDoesNotMatch)',
  NoSuchBucket: 'there is no such bucket (NoSuchBucket)',
  InvalidToken: 'the session token is not valid (InvalidToken)',
  ExpiredToken: 'the session token has expired (ExpiredToken)',
  PermanentRedirect: 'the bucket is in another region (PermanentRedirect)',
  AuthorizationHeaderMalformed: 'the bucket is in another region (AuthorizationHeaderMalformed)',
  URL_REFUSED: 'its address is not public and not listed in fetch.privateOrigins, or it refuses connections',
};

const words = (error: Error): string => (error instanceof S3Failure ? ADVICE[error.code] : undefined) ?? error.message;
