/** Several results become one ZIP. */
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { packed } from '../objects/zip.ts';

export interface ZipEntry {
  readonly name: string;
  /** Path of a file that nobody else can change any more. */
  readonly path: string;
  /** Formats that are compressed already are stored as they are. */
  readonly compress: boolean;
}

/** Writes the archive to `path`. */
export async function writeZip(path: string, entries: readonly ZipEntry[]): Promise<void> {
  const files = entries.map(({ path: from, ...entry }) => ({ ...entry, open: async () => createReadStream(from) }));
  await pipeline(packed(files), createWriteStream(path, { flags: 'wx' }));
}
