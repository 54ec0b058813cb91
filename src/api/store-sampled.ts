/** A file on its way into the object store, looked at as it passes. */
import { type Readable, Transform } from 'node:stream';
import { type Sample, Sampler } from '../catalog/sniff/sample.ts';
import type { ObjectStore } from '../objects/store.ts';

/** @throws TooLarge · StoreFull · the stream's own error; nothing is then stored */
export async function storeSampled(
  stream: Readable,
  key: string,
  objects: ObjectStore,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ readonly sizeBytes: number; readonly sample: Sample }> {
  const sampler = new Sampler();
  const sampling = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sampler.push(chunk);
      done(null, chunk);
    },
  });
  stream.on('error', (error) => sampling.destroy(error));
  const { sizeBytes } = await objects.put(key, stream.pipe(sampling), maxBytes, signal);
  return { sizeBytes, sample: sampler.sample() };
}
