/** Deletes objects one by one, and many at a time where many wait: by DeleteObjects (API reference), 1,000 keys in a request. */

import { Missing } from '../store.ts';
import { type S3Call, S3Failure } from './call.ts';

/** Requests under way; further keys wait, and are deleted together. */
const MOST_REQUESTS = 8;
/** Keys in a request, as S3 allows. */
const MOST_KEYS = 1_000;
/** What a store answers that only knows how to delete one object. */
const UNKNOWN_CODES = new Set(['NotImplemented', 'MethodNotAllowed']);

interface Waiting {
  readonly key: string;
  resolve(): void;
  reject(error: unknown): void;
}

/** @returns deletes an object; a missing one is no error @throws (what it returns) S3Failure */
export function deleteFrom(call: S3Call, bucket: string): (key: string) => Promise<void> {
  const waiting: Waiting[] = [];
  let requests = 0;
  let knowsMany = true;

  const one = async (key: string): Promise<void> => {
    try {
      await call('delete an object', (s3) => s3.removeObject(bucket, key));
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
    }
  };

  /** @returns by key, what S3 says of those that it did not delete */
  const many = async (keys: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const answer: unknown[] = await call('delete objects', (s3) => s3.removeObjects(bucket, [...keys]));
    // The library declares each inside an object `Error`, and returns them bare.
    const failed = answer.filter(
      (entry): entry is { Key: unknown; Code: unknown } => typeof entry === 'object' && entry !== null && 'Key' in entry,
    );
    return new Map(failed.map(({ Key, Code }) => [String(Key), String(Code)]));
  };

  async function deleteAll(batch: readonly Waiting[]): Promise<void> {
    const [first] = batch;
    if (first !== undefined && batch.length === 1) return one(first.key).then(first.resolve, first.reject);
    try {
      const failed = await many(batch.map(({ key }) => key));
      for (const { key, resolve, reject } of batch) {
        const code = failed.get(key);
        if (code === undefined || code === 'NoSuchKey') resolve();
        else reject(new S3Failure(`the object store did not delete an object: ${code}`, code));
      }
    } catch (error) {
      if (!(error instanceof S3Failure && UNKNOWN_CODES.has(error.code))) {
        for (const { reject } of batch) reject(error);
        return;
      }
      knowsMany = false;
      waiting.unshift(...batch);
    }
  }

  function next(): void {
    while (requests < MOST_REQUESTS && waiting.length > 0) {
      const batch = waiting.splice(0, knowsMany ? MOST_KEYS : 1);
      requests++;
      void deleteAll(batch).finally(() => {
        requests--;
        next();
      });
    }
  }

  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      next();
    });
}
