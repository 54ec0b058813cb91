/** Brings one file: from one address after the other, resumed where a connection broke, and checked by SHA-256. */
import { createWriteStream } from 'node:fs';
import { copyFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { hashOf } from '../hash.ts';

/** What is wanted. Its digest decides; its length, where it is known, ends what is too long early. */
export interface WantedFile {
  readonly name: string;
  readonly sha256: string;
  readonly bytes?: number | undefined;
  readonly mostBytes?: number | undefined;
}

export interface DownloadFrom {
  /** Addresses of the file, the preferred one first; the next is asked only if one fails. @throws PullFailed */
  readonly addresses: (signal: AbortSignal) => Promise<readonly string[]>;
  /**
   * Instead: a folder, or the address of a mirror, of files that have their SHA-256 for names. A folder may also name them as their publisher does.
   * If it is set, no other address is asked.
   */
  readonly mirror?: string | undefined;
  /** Told how many bytes are there. */
  readonly onBytes?: ((file: WantedFile, received: number) => void) | undefined;
}

/** How long a server may stay silent, ms. */
const SILENCE_MS = 30_000;
/** How often a download goes on after a connection broke. */
const TRIES = 4;
/** Where neither its length nor a bound is known. */
const LARGEST = 4 * 1024 ** 3;
/** The range that was asked for is not in the file (RFC 9110, 15.5.17). */
const NO_SUCH_RANGE = 416;

/** What could not be done, for people. */
export class PullFailed extends Error {
  override readonly name = 'PullFailed';
}

/** @param path absolute, of what was received so far @throws PullFailed */
export async function bringFile(wanted: WantedFile, path: string, from: DownloadFrom, signal: AbortSignal): Promise<void> {
  const { mirror } = from;
  if (mirror !== undefined && !/^https?:/.test(mirror)) return copied(wanted, path, mirror, signal);
  if ((await sizeAt(path)) !== undefined && (await isWanted(wanted, path, signal)))
    return from.onBytes?.(wanted, (await sizeAt(path)) ?? 0);
  const addresses = mirror === undefined ? await from.addresses(signal) : [`${mirror.replace(/\/$/, '')}/${wanted.sha256}`];
  const failures: string[] = [];
  for (const address of addresses) {
    const failure = await fromAddress(wanted, address, path, from, signal);
    if (failure === undefined) return;
    failures.push(failure);
  }
  throw new PullFailed(failures.join('; '));
}

/** Out of a folder: named by its digest, or as its publisher names it. */
async function copied(wanted: WantedFile, path: string, folder: string, signal: AbortSignal): Promise<void> {
  const { name, sha256 } = wanted;
  let code: string | undefined = 'ENOENT';
  for (const each of [sha256, name]) {
    code = await copyFile(join(folder, each), path).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    );
    if (code === undefined) break;
  }
  if (code !== undefined) throw new PullFailed(`${name} cannot be read in ${folder} (${code}), neither by this name nor as ${sha256}`);
  if (await isWanted(wanted, path, signal)) return;
  await rm(path, { force: true });
  throw new PullFailed(`${name} differs from its manifest: its SHA-256 is another one`);
}

const isWanted = async ({ bytes, sha256 }: WantedFile, path: string, signal: AbortSignal): Promise<boolean> =>
  (bytes === undefined || (await sizeAt(path)) === bytes) && (await hashOf(path, signal)) === sha256;

/** @returns why it could not be had there */
async function fromAddress(
  wanted: WantedFile,
  address: string,
  path: string,
  from: DownloadFrom,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { host } = new URL(address);
  for (let attempt = 1; ; attempt++) {
    try {
      const begun = await receive(wanted, address, path, from, signal);
      if (await isWanted(wanted, path, signal)) return undefined;
      await rm(path, { force: true });
      // What was there before may have been of another file.
      if (!begun) return `${wanted.name} of ${host} differs from its manifest: its SHA-256 is another one`;
    } catch (error) {
      if (signal.aborted) throw error;
      if (error instanceof PullFailed) return error.message;
      if (attempt === TRIES) return `${host} could not be reached for ${wanted.name} (${codeOf(error)})`;
    }
    if (attempt === TRIES) return `${wanted.name} of ${host} could not be had whole`;
  }
}

const codeOf = (error: unknown): string => {
  const { code, cause, message } = error as NodeJS.ErrnoException & { cause?: NodeJS.ErrnoException };
  return cause?.code ?? code ?? message;
};

/** Goes on where the file ends. @returns whether something was there before */
async function receive(wanted: WantedFile, address: string, path: string, from: DownloadFrom, signal: AbortSignal): Promise<boolean> {
  const most = wanted.bytes ?? wanted.mostBytes ?? LARGEST;
  const has = (await sizeAt(path)) ?? 0;
  const isBegun = has > 0 && has < most;
  const silence = new AbortController();
  const fall = () => silence.abort(new Error('no byte arrived for 30 s'));
  let timer = setTimeout(fall, SILENCE_MS);
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(fall, SILENCE_MS);
  };
  const both = AbortSignal.any([signal, silence.signal]);
  try {
    const answer = await fetch(address, { headers: isBegun ? { range: `bytes=${has}-` } : {}, signal: both });
    if (address.startsWith('https:') && !answer.url.startsWith('https:'))
      throw new PullFailed(`${new URL(address).host} leads to an address without TLS for ${wanted.name}`);
    if (answer.status === NO_SUCH_RANGE && isBegun) {
      await answer.body?.cancel();
      // Whole, of a length that was not known, or of another file: the digest tells.
      return true;
    }
    if (!answer.ok || answer.body === null) throw new PullFailed(`${new URL(address).host} answers ${answer.status} for ${wanted.name}`);
    const resumed = isBegun && answer.status === 206 && answer.headers.get('content-range')?.startsWith(`bytes ${has}-`) === true;
    if (isBegun && answer.status === 206 && !resumed)
      throw new PullFailed(`${new URL(address).host} sends another range of ${wanted.name}`);
    let received = resumed ? has : 0;
    await pipeline(
      Readable.fromWeb(answer.body),
      async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          heard();
          received += chunk.length;
          if (received > most) throw new PullFailed(`${wanted.name} is longer than its manifest says`);
          from.onBytes?.(wanted, received);
          yield chunk;
        }
      },
      createWriteStream(path, { flags: resumed ? 'a' : 'w' }),
      { signal: both },
    );
    if (wanted.bytes !== undefined && received < wanted.bytes) throw new Error('the connection broke');
    return resumed;
  } finally {
    clearTimeout(timer);
  }
}

/** @returns undefined where there is no such file */
export const sizeAt = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
