/** A file on its way into the object store, looked at as it passes. */
import { pipeline, type Readable, Transform } from 'node:stream';
import { type Sample, Sampler } from '../catalog/sniff/sample.ts';
import type { ObjectStore, Written } from '../objects/store.ts';

/** @throws TooLarge · StoreFull · the stream's own error; nothing is then stored */
export async function storeSampled(
  stream: Readable,
  key: string,
  objects: ObjectStore,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Written & { readonly sample: Sample }> {
  const sampler = new Sampler();
  const sampling = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sampler.push(chunk);
      done(null, chunk);
    },
  });
  // Whichever of the two ends early takes the other along.
  pipeline(stream, sampling, () => {});
  const written = await objects.put(key, sampling, maxBytes, signal);
  return { ...written, sample: sampler.sample() };
}
