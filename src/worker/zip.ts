/** Several results become one ZIP. */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import yazl from 'yazl';

export interface ZipEntry {
  readonly name: string;
  /** Path of a file that nobody else can change any more. */
  readonly path: string;
  /** Formats that are compressed already are stored as they are. */
  readonly compress: boolean;
}

/** Writes the archive to `path`. All entries carry the same time, so that equal results are equal bytes. */
export async function writeZip(path: string, entries: readonly ZipEntry[]): Promise<void> {
  const zip = new yazl.ZipFile();
  for (const { name, path: from, compress } of entries)
    zip.addFile(from, name, { mtime: new Date(Date.UTC(2020, 0, 1)), mode: 0o100644, compress });
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path, { flags: 'wx' }));
}
