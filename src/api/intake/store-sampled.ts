/** Writes a file to the object store, and takes a sample and a hash of it on the way. */
import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream';
import { HEAD_BYTES, type Sample, Sampler } from '../../catalog/looks/sample.ts';
import type { ObjectStore, Written } from '../../objects/store.ts';
import { onAbort } from '../../streams/abort.ts';

/**
 * @param check judges the file's beginning, or the whole of a small one, before anything is stored
 * @throws TooLarge · StoreFull · the stream's own error · what `check` throws; nothing is then stored
 */
export async function storeSampled(
  stream: Readable,
  key: string,
  objects: ObjectStore,
  maxBytes: number,
  signal: AbortSignal,
  check?: (sample: Sample, isWhole: boolean) => Promise<void>,
): Promise<Written & { readonly sample: Sample }> {
  const sampler = new Sampler();
  const checked = Promise.withResolvers<void>();
  /** No more than the sampler's head. */
  let held: Buffer[] | undefined = check === undefined ? undefined : [];
  let bytes = 0;
  const letPass = (through: Transform, isWhole: boolean, done: TransformCallback) =>
    void check?.(sampler.sample(), isWhole).then(
      () => {
        for (const chunk of held ?? []) through.push(chunk);
        held = undefined;
        checked.resolve();
        done();
      },
      (error: unknown) => {
        checked.reject(error);
        done(error as Error);
      },
    );
  const sampling = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sampler.push(chunk);
      if (held === undefined) return done(null, chunk);
      held.push(chunk);
      bytes += chunk.length;
      if (bytes < HEAD_BYTES) return done();
      letPass(this, false, done);
    },
    flush(done) {
      if (held === undefined) return done();
      letPass(this, true, done);
    },
  });
  // When one of the two fails, it ends the other. Without `check` nothing awaits `checked`, and its rejection would end the process.
  pipeline(stream, sampling, (error) => {
    if (error && check !== undefined) checked.reject(error);
  });
  if (check !== undefined) {
    const stay = onAbort(signal, checked.reject);
    try {
      await checked.promise;
    } catch (error) {
      sampling.destroy();
      throw error;
    } finally {
      stay();
    }
  }
  const written = await objects.put(key, sampling, maxBytes, signal);
  return { ...written, sample: sampler.sample() };
}
