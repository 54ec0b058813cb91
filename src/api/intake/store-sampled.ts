/** Writes a file to the object store, and takes a sample and a hash of it on the way. */
import { finished, Readable } from 'node:stream';
import { HEAD_BYTES, type Sample, Sampler } from '../../catalog/looks/sample.ts';
import type { ObjectStore, PutOptions, Written } from '../../objects/store.ts';
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
  { check, digest }: { readonly check?: ((sample: Sample, isWhole: boolean) => Promise<void>) | undefined } & PutOptions = {},
): Promise<Written & { readonly sample: Sample }> {
  const sampler = new Sampler();
  // It may fail while it is not read, and an error without a listener would end the process.
  stream.on('error', () => {});
  sampleAll(stream, sampler);
  const content = check === undefined ? stream : await onceChecked(stream, sampler, check, signal);
  const written = await objects.put(key, content, maxBytes, signal, { digest });
  return { ...written, sample: sampler.sample() };
}

/** Shows the sampler what is read of a stream. As it is pushed: a stream between the two would handle each block once more. */
function sampleAll(stream: Readable, sampler: Sampler): void {
  const before: Buffer[] = [];
  while (stream.readableLength > 0) before.push(stream.read() as Buffer);
  for (const block of before) sampler.push(block);
  for (const block of before.toReversed()) stream.unshift(block);
  const push = stream.push.bind(stream);
  stream.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    if (chunk !== null) sampler.push(chunk);
    return push(chunk, encoding);
  };
}

/** @returns the file, once `check` has judged it: until then no more than the sampler's head is held @throws as `storeSampled` */
async function onceChecked(
  stream: Readable,
  sampler: Sampler,
  check: (sample: Sample, isWhole: boolean) => Promise<void>,
  signal: AbortSignal,
): Promise<Readable> {
  try {
    const { blocks, isWhole } = await readHead(stream, signal);
    await check(sampler.sample(), isWhole);
    signal.throwIfAborted();
    if (isWhole) return Readable.from(blocks, { objectMode: false });
    for (const block of blocks.toReversed()) stream.unshift(block);
    return stream;
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

/** Takes the first `HEAD_BYTES` out of a stream, or the whole of a shorter one. @throws the stream's error · the reason of `signal` */
async function readHead(stream: Readable, signal: AbortSignal): Promise<{ readonly blocks: Buffer[]; readonly isWhole: boolean }> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const blocks: Buffer[] = [];
  let bytes = 0;
  const take = () => {
    while (bytes < HEAD_BYTES) {
      const block = stream.read() as Buffer | null;
      if (block === null) return;
      blocks.push(block);
      bytes += block.length;
    }
    resolve(false);
  };
  const unsubscribe = onAbort(signal, reject);
  const watched = finished(stream, { writable: false }, (error) => (error ? reject(error) : resolve(true)));
  stream.on('readable', take);
  try {
    return { isWhole: await promise, blocks };
  } finally {
    unsubscribe();
    watched();
    stream.off('readable', take);
  }
}
