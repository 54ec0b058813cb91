/** A file on its way into the object store, looked at as it passes. */
import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream';
import { HEAD_BYTES, type Sample, Sampler } from '../../catalog/sniff/sample.ts';
import type { ObjectStore, Written } from '../../objects/store.ts';
import { onAbort } from '../../streams/abort.ts';

/**
 * @param look at the file's beginning, or at the whole of a small one, before anything is stored; where it throws, nothing is
 * @throws TooLarge · StoreFull · the stream's own error · what `look` throws; nothing is then stored
 */
export async function storeSampled(
  stream: Readable,
  key: string,
  objects: ObjectStore,
  maxBytes: number,
  signal: AbortSignal,
  look?: (sample: Sample, isWhole: boolean) => Promise<void>,
): Promise<Written & { readonly sample: Sample }> {
  const sampler = new Sampler();
  const looked = Promise.withResolvers<void>();
  /** No more than the sampler's head. */
  let held: Buffer[] | undefined = look === undefined ? undefined : [];
  let bytes = 0;
  const letPass = (through: Transform, isWhole: boolean, done: TransformCallback) =>
    void look?.(sampler.sample(), isWhole).then(
      () => {
        for (const chunk of held ?? []) through.push(chunk);
        held = undefined;
        looked.resolve();
        done();
      },
      (error: unknown) => {
        looked.reject(error);
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
  // Whichever of the two ends early takes the other along. Where nobody looks, nobody awaits `looked`, and its rejection would end the process.
  pipeline(stream, sampling, (error) => {
    if (error && look !== undefined) looked.reject(error);
  });
  if (look !== undefined) {
    const stay = onAbort(signal, looked.reject);
    try {
      await looked.promise;
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
