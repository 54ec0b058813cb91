/** What one stint of a recipe leaves for the next, as one object: its length as 8 bytes, a list of the files as JSON, then their contents. */
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { KeptFiles } from './kept.ts';

const Carried = z.strictObject({
  /** Conversions that were run so far. */
  runs: z.number().int().min(0),
  files: z.array(
    z.strictObject({
      step: z.number().int().min(0),
      order: z.number().int(),
      part: z.number().int(),
      format: z.string(),
      extension: z.string(),
      name: z.string(),
      sizeBytes: z.number().int().min(0),
    }),
  ),
});

const LENGTH_BYTES = 8;
/** More than the list of 2,500 files has. */
const MOST_LIST_BYTES = 1 << 22;

/** @param path of a file that is not there yet; what was sent is left out: later stints fetch it themselves */
export async function writeCarried(path: string, kept: KeptFiles, runs: number, signal: AbortSignal): Promise<number> {
  const made = kept.all().filter(({ step }) => step >= 0);
  const list = Buffer.from(JSON.stringify({ runs, files: made.map(({ path: _, ...file }) => file) }));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeBigUInt64BE(BigInt(list.length));
  const content = async function* () {
    yield length;
    yield list;
    for (const file of made) yield* createReadStream(file.path);
  };
  await pipeline(content(), createWriteStream(path, { flags: 'wx' }), { signal });
  return LENGTH_BYTES + list.length + made.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

/** The file is removed: the work folder has no room for both. @returns how many conversions were run @throws where the file is none of ours */
export async function readCarried(path: string, kept: KeptFiles, signal: AbortSignal): Promise<number> {
  await using file = await open(path);
  const length = Number((await file.read(Buffer.alloc(LENGTH_BYTES), 0, LENGTH_BYTES, 0)).buffer.readBigUInt64BE());
  if (length > MOST_LIST_BYTES) throw new Error('what a stint left cannot be read');
  const list = Buffer.alloc(length);
  await file.read(list, 0, length, LENGTH_BYTES);
  const { runs, files } = Carried.parse(JSON.parse(list.toString()));
  let start = LENGTH_BYTES + length;
  for (const about of files) {
    const { path: to, sizeBytes } = kept.add(about);
    const part = sizeBytes === 0 ? [] : createReadStream(path, { start, end: start + sizeBytes - 1 });
    await pipeline(part, createWriteStream(to, { flags: 'wx' }), { signal });
    start += sizeBytes;
  }
  await rm(path);
  return runs;
}
