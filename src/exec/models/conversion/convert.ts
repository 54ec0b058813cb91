/** Makes the files of a model from weights that are kept in another format. */
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ConversionName } from '../manifest.ts';
import { ncnnFrom } from './ncnn.ts';
import { filesOfTar } from './tar.ts';
import { whisperFrom } from './whisper.ts';

const CONVERTERS: Readonly<Record<ConversionName, (weights: Buffer) => Readonly<Record<string, readonly Uint8Array[]>>>> = {
  ncnn: ncnnFrom,
  tar: filesOfTar,
  whisper: whisperFrom,
};

/** @param weights absolute path of a file @param into absolute path of a folder */
export async function convertWeights(by: ConversionName, weights: string, into: string, signal: AbortSignal): Promise<void> {
  for (const [name, pieces] of Object.entries(CONVERTERS[by](await readFile(weights))))
    await pipeline(Readable.from(pieces), createWriteStream(join(into, name), { flags: 'wx', mode: 0o644 }), { signal });
}
