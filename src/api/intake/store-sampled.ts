/** Writes a file to the object store, and takes a sample and a hash of it on the way. */
import { pipeline, type Readable, Transform } from 'node:stream';
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
  const sampled = check === undefined ? sample(stream, sampler) : await sampleOnceChecked(stream, sampler, check, signal);
  const written = await objects.put(key, sampled, maxBytes, signal);
  return { ...written, sample: sampler.sample() };
}

function sample(stream: Readable, sampler: Sampler): Readable {
  const sampling = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sampler.push(chunk);
      done(null, chunk);
    },
  });
  // When one of the two fails, it ends the other: its reader learns of that.
  return pipeline(stream, sampling, () => {});
}

/** @returns the file, once `check` has judged it: until then no more than the sampler's head is held @throws as `storeSampled` */
async function sampleOnceChecked(
  stream: Readable,
  sampler: Sampler,
  check: (sample: Sample, isWhole: boolean) => Promise<void>,
  signal: AbortSignal,
): Promise<Readable> {
  const checked = Promise.withResolvers<void>();
  let held: Buffer[] | undefined = [];
  let bytes = 0;
  const judge = async (through: Transform, isWhole: boolean) => {
    await check(sampler.sample(), isWhole);
    for (const chunk of held ?? []) through.push(chunk);
    held = undefined;
    checked.resolve();
  };
  const sampling = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sampler.push(chunk);
      if (held === undefined) return done(null, chunk);
      held.push(chunk);
      bytes += chunk.length;
      if (bytes < HEAD_BYTES) return done();
      judge(this, false).then(() => done(), done);
    },
    flush(done) {
      if (held === undefined) return done();
      judge(this, true).then(() => done(), done);
    },
  });
  // When one of the two fails, it ends the other. What `check` throws comes this way, too.
  pipeline(stream, sampling, (error) => {
    if (error) checked.reject(error);
  });
  const unsubscribe = onAbort(signal, checked.reject);
  try {
    await checked.promise;
    return sampling;
  } catch (error) {
    sampling.destroy();
    throw error;
  } finally {
    unsubscribe();
  }
}
