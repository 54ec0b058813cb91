/** Files packed into one ZIP as a stream: each is opened when its turn comes, none is held in memory. */
import type { Readable } from 'node:stream';
import yazl from 'yazl';

export interface Packed {
  readonly name: string;
  readonly open: () => Promise<Readable>;
  /** Formats that are compressed already are stored as they are. */
  readonly compress: boolean;
}

/** All entries carry the same time, so that equal files are equal bytes. The stream fails where a file cannot be read. */
export function packed(files: readonly Packed[]): Readable {
  const zip = new yazl.ZipFile();
  const output = zip.outputStream as Readable;
  zip.on('error', (error) => output.destroy(error as Error));
  for (const { name, open, compress } of files) {
    const options = { mtime: new Date(Date.UTC(2020, 0, 1)), mode: 0o100644, compress };
    zip.addReadStreamLazy(name, options, (ready) => {
      open().then(
        (stream) => ready(null, stream),
        (error: Error) => ready(error, null as never),
      );
    });
  }
  zip.end();
  return output;
}
