/** Puts a stream into S3 without holding more than a part of it: in one request where that is all, else by a multipart upload. */
import { createHash } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { type ObjectStore, TooLarge } from '../store.ts';
import { validKey } from '../valid-key.ts';
import { type Call, S3Failure } from './call.ts';

/** Bytes: the least that S3 takes, but for the last part. It takes 10,000 of them (S3 user guide, "Multipart upload limits"), so 48 GiB. */
const PART_BYTES = 5 * 1_024 * 1_024;
/** All that most files have. */
const FIRST_BYTES = 64 * 1_024;

/** Uploads that could not be abandoned because the store did not answer: their ids, and the keys they are of. */
export type Unfinished = Map<string, string>;
/** Beyond it they are left to the sweep by age. */
const MOST_UNFINISHED = 1_000;

export function putTo(call: Call, bucket: string, unfinished: Unfinished): ObjectStore['put'] {
  return async (key, source, maxBytes, signal) => {
    // The stream may fail while nobody reads it: unheard, that would end the process.
    source.on('error', () => {});
    const upload = uploadOf(call, bucket, key, unfinished);
    try {
      validKey(key);
      signal?.throwIfAborted();
      if (signal !== undefined) addAbortSignal(signal, source);
      const hash = createHash('sha256');
      let sizeBytes = 0;
      // One block again and again: each part has left it before the next comes in.
      let block: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
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
    }
  };
}

function grown(block: Buffer): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.min(PART_BYTES, block.length * 8));
  block.copy(larger);
  return larger;
}

function uploadOf(call: Call, bucket: string, key: string, unfinished: Unfinished) {
  let id: string | undefined;
  const parts: { part: number; etag: string }[] = [];

  /** One part more, not the last. */
  async function part(bytes: Buffer, signal?: AbortSignal): Promise<void> {
    // Not under the signal: an upload whose id was never heard could not be abandoned.
    id ??= await call('begin an upload', (s3) => s3.initiateNewMultipartUpload(bucket, key, TYPE));
    const where = { bucketName: bucket, objectName: key, uploadID: encodeURIComponent(id), partNumber: parts.length + 1 };
    parts.push(await call('take a part', (s3) => s3.uploadPart({ ...where, headers: {} }, bytes), signal));
  }

  /**
   * The last bytes, and the object is there. Under no signal, for what was ordered cannot be called back. When the answer is lost the object
   * may be there all the same: under a key that nobody was told, for the sweep of orphans.
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

/** A name could only mislead whoever reads the object past us. */
const TYPE = { 'content-type': 'application/octet-stream' };

/** Not an error when there is none. */
export async function abandonUpload(call: Call, bucket: string, key: string, uploadId: string): Promise<void> {
  await call('abandon an upload', (s3) => s3.abortMultipartUpload(bucket, key, encodeURIComponent(uploadId))).catch((error: unknown) => {
    if (!(error instanceof S3Failure && error.code === 'NoSuchUpload')) throw error;
  });
}
