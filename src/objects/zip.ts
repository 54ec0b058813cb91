/** Files packed into one ZIP as a stream: each is opened when its turn comes, none is held in memory. */
import { finished, type Readable } from 'node:stream';
import yazl from 'yazl';

export interface Packed {
  readonly name: string;
  readonly open: () => Promise<Readable>;
  /** Formats that are compressed already are stored as they are. */
  readonly compress: boolean;
}

/**
 * All entries carry the same time, so that equal files are equal bytes. The stream fails where a file cannot be read. Destroying it destroys the
 * file that is being read, and none is opened any more.
 */
export function packed(files: readonly Packed[]): Readable {
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
          // The library pipes, and a pipe hands on neither an error nor an early end.
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
