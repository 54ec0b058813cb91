/** Packs a conversion's results into the one file that the client downloads: the only result, or a ZIP of all. */

import { hash } from 'node:crypto';
import { chownSync, createReadStream, createWriteStream, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import type { EngineWarning } from '../../catalog/engine.ts';
import { formatOf } from '../../catalog/formats.ts';
import { baseName, cleanName, distinctNames, numberedNames, resultName } from '../../catalog/names.ts';
import { conversionFailed } from '../../errors.ts';
import { type Collected, openFile } from '../../exec/files/collect.ts';
import { zipStream } from '../../objects/zip.ts';
import { copyContent, isShort } from '../../streams/short.ts';
import type { ConversionResult, ResultFile } from './convert.ts';
import { MAX_OUTPUT_BYTES } from './judge.ts';

export interface PackedOutput {
  /** Path of a file of ours that no converter can change: it may be moved away. */
  readonly path: string;
  /** Lower-case hex; undefined where it takes long to compute. */
  readonly sha256?: string | undefined;
  readonly filename: string;
  readonly contentType: string;
  readonly files: number;
  readonly warnings: readonly EngineWarning[];
}

/** Short files that are copied in one turn of the event loop. */
const COPIED_AT_ONCE = 32;

/** Name of the ZIP beside the copies, which are named by their number. */
const ARCHIVE = 'zip';

/** The only families that a ZIP deflates: the formats of others are compressed already. */
const COMPRESSIBLE = new Set(['markup', 'sheet', 'vector']);

export interface PackOptions {
  /** The client's name of the source. */
  readonly sourceName: string;
  readonly target: { readonly format: string; readonly extension: string };
  readonly alwaysZip?: boolean | undefined;
  /** Behind the name of the source; unset: the service's. */
  readonly suffix?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * @param destination absolute path of an empty folder that converters cannot access
 * @throws Failure `output_limit` for parts that are too large together · the reason of `signal`
 */
export async function packOutput(
  destination: string,
  { base, files }: ConversionResult,
  { sourceName, target, alwaysZip = false, suffix, signal }: PackOptions,
): Promise<PackedOutput> {
  const { mime, family } = formatOf(target.format);
  const copies: string[] = [];
  let sha256: string | undefined;
  let bytes = 0;
  for (const [index, { folder, name }] of files.entries()) {
    signal.throwIfAborted();
    using opened = openFile(base, folder, name);
    // Each part is within the bound already.
    bytes += opened.sizeBytes;
    if (bytes > MAX_OUTPUT_BYTES) throw conversionFailed('output_limit', { details: { max_bytes: MAX_OUTPUT_BYTES, bytes } });
    const path = join(destination, String(index));
    // Short files are copied without waiting.
    if (index % COPIED_AT_ONCE === COPIED_AT_ONCE - 1) await setImmediate();
    sha256 = await copyTo(path, opened, { isHashed: files.length === 1 && !alwaysZip });
    copies.push(path);
  }
  const [only] = copies;
  if (only !== undefined && copies.length === 1 && !alwaysZip)
    return { path: only, sha256, filename: resultName(sourceName, target.extension, suffix), contentType: mime, files: 1, warnings: [] };

  const path = join(destination, ARCHIVE);
  const names = partNames(baseName(sourceName), files, target.extension);
  await writeZip(
    path,
    copies.map((from, index) => ({ path: from, name: names[index] ?? String(index), compress: COMPRESSIBLE.has(family) })),
    signal,
  );
  return {
    path,
    filename: resultName(sourceName, 'zip', suffix),
    contentType: 'application/zip',
    files: copies.length,
    warnings: alwaysZip
      ? []
      : [
          {
            code: 'zip_of_pages',
            message: `One ${target.extension} file can contain only one page: the ${copies.length} parts are in a ZIP.`,
          },
        ],
  };
}

/** @returns the digest of a short file, which is in memory meanwhile, where it is wanted */
async function copyTo(
  path: string,
  { fd, sizeBytes }: Collected,
  { isHashed }: { readonly isHashed: boolean },
): Promise<string | undefined> {
  if (isShort(sizeBytes)) {
    const bytes = Buffer.alloc(sizeBytes);
    const content = bytes.subarray(0, readSync(fd, bytes, 0, sizeBytes, 0));
    writeFileSync(path, content, { flag: 'wx', mode: 0o600 });
    return isHashed ? hash('sha256', content) : undefined;
  }
  await copyContent(`/proc/self/fd/${fd}`, path, sizeBytes);
  // A copy belongs to whom the original belongs to.
  chownSync(path, process.geteuid?.() ?? 0, process.getegid?.() ?? 0);
  return undefined;
}

/**
 * `name-001.png` where an engine only numbers its files, with the number of the page where only some were asked for; its label, such as a sheet's
 * name, where it gives one. Equal names get numbers.
 */
export function partNames(base: string, parts: readonly Pick<ResultFile, 'label' | 'page'>[], extension: string): string[] {
  const numbers = parts.map(({ page }, index) => page ?? index + 1);
  const width = Math.max(3, ...numbers.map((number) => String(number).length));
  const take = distinctNames();
  return parts.map(({ label }, index) => {
    const own = label.replace(/^((page|out)-?)?\d+[ -]?/, '');
    const number = String(numbers[index]).padStart(width, '0');
    return take(candidates(own === '' ? `${base}-${number}` : cleanName(own), number, `.${extension}`));
  });
}

function* candidates(base: string, number: string, end: string): Generator<string> {
  yield `${base}${end}`;
  yield `${base}-${number}${end}`;
  yield* numberedNames(`${base}-${number}`, end);
}

interface ZipEntry {
  readonly name: string;
  /** Path of a file that no converter can change. */
  readonly path: string;
  /** False for formats that are compressed already. */
  readonly compress: boolean;
}

/** Writes the archive to `path`. */
async function writeZip(path: string, entries: readonly ZipEntry[], signal: AbortSignal): Promise<void> {
  const files = entries.map(({ path: from, ...entry }) => ({ ...entry, open: async () => createReadStream(from) }));
  await pipeline(zipStream(files), createWriteStream(path, { flags: 'wx' }), { signal });
}
