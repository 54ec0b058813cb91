/** Streams several files as one ZIP: each file is opened when its turn comes, and none is held in memory. */
import { finished, type Readable } from 'node:stream';
import yazl from 'yazl';

export interface ZipSource {
  readonly name: string;
  readonly open: () => Promise<Readable>;
  /** False for formats that are compressed already. */
  readonly compress: boolean;
}

/**
 * All entries have the same modification time, so that equal files give equal bytes. The stream fails if a file cannot be read. Destroying it
 * destroys the file that is being read, and opens no more.
 */
export function zipStream(files: readonly ZipSource[]): Readable {
  const zip = new yazl.ZipFile();
  const output = zip.outputStream as Readable;
  let current: Readable | undefined;
  output.once('close', () => current?.destroy());
  zip.on('error', (error) => output.destroy(error as Error));
  for (const { name, open, compress } of files) {
    const options = { mtime: new Date(Date.UTC(2020, 0, 1)), mode: 0o100644, compress };
    zip.addReadStreamLazy(name, options, (ready) => {
      if (output.destroyed) return;
      open().then(
        (stream) => {
          current = stream;
          // The library uses `pipe`, which forwards neither errors nor an early end.
          finished(stream, (error) => void (error && output.destroy(error)));
          if (output.destroyed) stream.destroy();
          else ready(null, stream);
        },
        (error: Error) => ready(error, null as never),
      );
    });
  }
  zip.end();
  return output;
}
