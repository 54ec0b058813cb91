/** Objects in an S3 bucket, of AWS or any compatible service. */
import { pipeline, Readable, Transform } from 'node:stream';
import type { S3Settings } from '../settings.ts';
import { Missing, type ObjectStore } from '../store.ts';
import { validKey, validPrefix } from '../valid-key.ts';
import { ensureS3Bucket, restoringBucket } from './bucket.ts';
import { S3Failure, s3Calls } from './call.ts';
import type { Credentials } from './credentials.ts';
import { deleteFrom } from './delete.ts';
import { abandonUpload, putTo, type Unfinished } from './put.ts';

export interface S3Limits {
  /** Limit on one request and its answer, ms. A part of 5 MiB must be sent in this time. */
  readonly callMs: number;
  /** Reading fails when no byte arrives for this long although the reader waits, ms. */
  readonly stallMs: number;
}

export interface S3Store extends ObjectStore {
  /**
   * Aborts uploads that no put will finish: those this process failed to abort, and those begun before a time.
   * MinIO lists only uploads that began since its own start, and aborts those older than a day itself.
   * @param before ms since the epoch: earlier than any put in progress can have begun @returns how many were aborted
   */
  abandonUploads(before: number): Promise<number>;
}

const LIMITS: S3Limits = { callMs: 60_000, stallMs: 60_000 };
/** The longest validity of a signature that S3 accepts (API reference, "Authenticating requests: query parameters"), seconds. */
const LONGEST_GRANT = 7 * 86_400;

/**
 * How far our clock may differ from the store's without breaking granted URLs, ms. A URL is dated back by this much and valid for as much
 * longer, because S3 refuses signatures from its future.
 */
const SKEW_MS = 15 * 60_000;

/** @throws an Error that names the bucket, when it cannot be used */
export async function openS3(settings: S3Settings, { callMs, stallMs }: S3Limits = LIMITS): Promise<S3Store> {
  const { bucket } = settings;
  const plain = s3Calls(settings, callMs);
  await ensureS3Bucket(plain, settings);
  const call = restoringBucket(plain, settings);
  const unfinished: Unfinished = new Map();
  const deleteOne = deleteFrom(call, bucket);

  return {
    put: putTo(call, bucket, unfinished),

    async get(key, range) {
      validKey(key);
      try {
        const body = await call('read an object', (s3) =>
          range === undefined ? s3.getObject(bucket, key) : s3.getPartialObject(bucket, key, range.start, range.end - range.start + 1),
        );
        return unlessStalled(body, stallMs);
      } catch (error) {
        // The range begins at the end of the object, so it is empty.
        if (error instanceof S3Failure && error.code === 'InvalidRange') return Readable.from([]);
        throw error;
      }
    },

    async head(key) {
      validKey(key);
      const stat = await call('look at an object', (s3) => s3.statObject(bucket, key)).catch(unlessMissing);
      return stat && { key, sizeBytes: stat.size, modifiedAt: stat.lastModified.getTime() };
    },

    async delete(key) {
      validKey(key);
      await deleteOne(key);
    },

    async *scan(prefix) {
      validPrefix(prefix);
      for (let token = '', last = false; !last; ) {
        const at = token;
        const page = await call('list objects', (s3) => s3.listObjectsV2Query(bucket, prefix, at, '', 1_000, ''));
        for (const { name, size, lastModified } of page.objects) {
          if (name !== undefined) yield { key: name, sizeBytes: size, modifiedAt: lastModified?.getTime() ?? 0 };
        }
        last = !page.isTruncated;
        token = page.nextContinuationToken;
        if (!last && (token === '' || token === at)) throw new S3Failure('the object store repeats a page of its listing', '');
      }
    },

    async grantRead(key, ttlMs) {
      validKey(key);
      return call('grant reading', (s3, who) => s3.presignedUrl('GET', bucket, key, lifeOf(ttlMs, who), {}, signedAt()));
    },

    async grantWrite(key, ttlMs) {
      validKey(key);
      return call('grant writing', (s3, who) => s3.presignedUrl('PUT', bucket, key, lifeOf(ttlMs, who), {}, signedAt()));
    },

    async abandonUploads(before) {
      let ended = 0;
      const end = async (key: string, id: string) => {
        await abandonUpload(call, bucket, key, id);
        unfinished.delete(id);
        ended++;
      };
      for (const [id, key] of [...unfinished]) await end(key, id);
      for (let marker = '', last = false; !last; ) {
        const at = marker;
        const page = await call('list uploads', (s3) => s3.listIncompleteUploadsQuery(bucket, '', at, '', ''));
        for (const { key, uploadId, initiated } of page.uploads) if (initiated.getTime() < before) await end(key, uploadId);
        marker = page.nextKeyMarker;
        // If one key has more uploads than a page holds, the next sweep continues.
        last = !page.isTruncated || marker === '' || marker === at;
      }
      return ended;
    },
  };
}

/** From `signedAt`, seconds: a URL is refused when the credentials it was signed with have expired, whatever it says itself. */
const lifeOf = (ttlMs: number, { expiresAt = Number.POSITIVE_INFINITY }: Credentials): number =>
  Math.min(
    LONGEST_GRANT,
    Math.max(1, Math.ceil((ttlMs + 2 * SKEW_MS) / 1_000)),
    Math.max(1, Math.floor((expiresAt - signedAt().getTime()) / 1_000)),
  );
const signedAt = (): Date => new Date(Date.now() - SKEW_MS);

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof Missing)) throw error;
}

/** Fails when no byte arrives for `stallMs`, unless the reader does not read or the end was reached. */
function unlessStalled(body: Readable, stallMs: number): Readable {
  const passed = new Transform({
    transform(chunk, _, done) {
      timer.refresh();
      done(null, chunk);
    },
  });
  const timer = setTimeout(() => {
    if (passed.writableNeedDrain || passed.writableEnded) timer.refresh();
    else passed.destroy(new S3Failure(`the object store sent nothing for ${stallMs / 1_000} s`, 'ETIMEDOUT'));
  }, stallMs);
  pipeline(body, passed, () => clearTimeout(timer));
  return passed;
}
