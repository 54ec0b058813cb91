/** Uploads a stream to S3 while holding at most one part in memory: in one request if it fits into a part, else as a multipart upload. */
import { createHash } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { Failure } from '../../errors.ts';
import { type ObjectStore, TooLarge } from '../store.ts';
import { validKey } from '../valid-key.ts';
import { type S3Call, S3Failure } from './call.ts';

/** The smallest part that S3 accepts, except the last, bytes. An upload has at most 10,000 parts (S3 user guide, "Multipart upload limits"): 48 GiB. */
const PART_BYTES = 5 * 1_024 * 1_024;
/** Most files are no larger. */
const FIRST_BYTES = 64 * 1_024;

/** All blocks of a process together, bytes: a replica with 768 MiB has other things to hold. Further files are refused. */
const MOST_HELD_BYTES = 384 * 1_024 * 1_024;

/** Keys, by upload id, of uploads that could not be aborted because the store did not answer. */
export type Unfinished = Map<string, string>;
/** Further ones are left to the sweep by age. */
const MOST_UNFINISHED = 1_000;

export function putTo(call: S3Call, bucket: string, unfinished: Unfinished, mostHeldBytes = MOST_HELD_BYTES): ObjectStore['put'] {
  let heldBytes = 0;
  /** @throws Failure `OVERLOADED` */
  const grown = (block: Buffer): Buffer => {
    const size = Math.min(PART_BYTES, block.length * 8);
    if (heldBytes + size > mostHeldBytes)
      throw new Failure('OVERLOADED', { says: 'The service is receiving as many files as it can hold: try again in a moment.' });
    heldBytes += size - block.length;
    const larger = Buffer.allocUnsafeSlow(size);
    block.copy(larger);
    return larger;
  };
  return async (key, source, maxBytes, signal) => {
    // The stream may fail before it is read, and an error without a listener would end the process.
    source.on('error', () => {});
    const upload = uploadOf(call, bucket, key, unfinished);
    // One block is reused: each part has been sent before the next is filled.
    let block: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
    heldBytes += block.length;
    try {
      validKey(key);
      signal?.throwIfAborted();
      if (signal !== undefined) addAbortSignal(signal, source);
      const hash = createHash('sha256');
      let sizeBytes = 0;
      let held = 0;
      for await (const chunk of source as AsyncIterable<Uint8Array | string>) {
        const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
        sizeBytes += bytes.byteLength;
        if (sizeBytes > maxBytes) throw new TooLarge(sizeBytes);
        hash.update(bytes);
        for (let from = 0; from < bytes.byteLength; ) {
          if (held === PART_BYTES) {
            await upload.part(block, signal);
            held = 0;
          }
          if (held === block.length) block = grown(block);
          const count = Math.min(block.length - held, bytes.byteLength - from);
          block.set(bytes.subarray(from, from + count), held);
          held += count;
          from += count;
        }
      }
      await upload.end(block.subarray(0, held));
      return { sizeBytes, sha256: hash.digest('hex') };
    } catch (error) {
      source.destroy();
      await upload.abandon();
      throw error;
    } finally {
      heldBytes -= block.length;
    }
  };
}

function uploadOf(call: S3Call, bucket: string, key: string, unfinished: Unfinished) {
  let id: string | undefined;
  const parts: { part: number; etag: string }[] = [];

  /** Uploads one more part, not the last. */
  async function part(bytes: Buffer, signal?: AbortSignal): Promise<void> {
    // Not under the signal: without its id an upload could not be aborted.
    id ??= await call('begin an upload', (s3) => s3.initiateNewMultipartUpload(bucket, key, TYPE));
    const where = { bucketName: bucket, objectName: key, uploadID: encodeURIComponent(id), partNumber: parts.length + 1 };
    parts.push(await call('take a part', (s3) => s3.uploadPart({ ...where, headers: {} }, bytes), signal));
  }

  /**
   * Uploads the last bytes and creates the object. Not under the signal, since the request cannot be undone. If its answer is lost, the object
   * may still exist, under a key that nothing refers to: the sweep of orphans removes it.
   */
  async function end(bytes: Buffer): Promise<void> {
    if (id === undefined) {
      await call('take an object', (s3) => s3.putObject(bucket, key, bytes, bytes.byteLength, { ...TYPE }));
      return;
    }
    const uploadId = id;
    await part(bytes);
    await call('complete an upload', (s3) => s3.completeMultipartUpload(bucket, key, uploadId, parts));
  }

  async function abandon(): Promise<void> {
    if (id === undefined) return;
    const uploadId = id;
    await abandonUpload(call, bucket, key, uploadId).catch(() => {
      if (unfinished.size < MOST_UNFINISHED) unfinished.set(uploadId, key);
    });
  }

  return { part, end, abandon };
}

/** Always the same: clients never read objects directly. */
const TYPE = { 'content-type': 'application/octet-stream' };

/** Aborts a multipart upload. Not an error where there is none. */
export async function abandonUpload(call: S3Call, bucket: string, key: string, uploadId: string): Promise<void> {
  await call('abandon an upload', (s3) => s3.abortMultipartUpload(bucket, key, encodeURIComponent(uploadId))).catch((error: unknown) => {
    if (!(error instanceof S3Failure && error.code === 'NoSuchUpload')) throw error;
  });
}
