/** Looks for secrets in a result wherever they could hide: raw, in other encodings, in packed parts, in drawn text, in pixels. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, inflateSync } from 'node:zlib';
import sharp from 'sharp';
import { unzip } from '../../kit/judges/documents/text.ts';

const run = promisify(execFile);
const MOST_INFLATED = 64 * 1024 * 1024;
const DEEPEST = 4;

/** The canary picture is all of this colour, which nothing else here is. */
export const CANARY_COLOUR = '#f0f';

interface Search {
  readonly words: readonly string[];
  /** Also read pictures by OCR. */
  readonly ocr?: boolean;
  /** Look for the canary's colour: unless told not to. */
  readonly colour?: boolean;
}

/** @returns where something of `words` or of the canary's colour was found */
export async function leaks(bytes: Buffer, { words, ocr = false, colour = true }: Search): Promise<string[]> {
  const found: string[] = [];
  const needles = words.flatMap(spellings);
  const look = async (part: Buffer, where: string, depth: number): Promise<void> => {
    for (const [needle, how] of needles) if (part.includes(needle)) found.push(`${where}: ${how}`);
    if (depth >= DEEPEST) return;
    if (part.subarray(0, 2).toString() === 'PK')
      for (const [name, inner] of await unzip(part).catch(() => new Map<string, Buffer>()))
        await look(inner, `${where}/${name}`, depth + 1);
    if (part.subarray(0, 5).toString() === '%PDF-') {
      for (const [index, inner] of streamsOf(part).entries()) await look(inner, `${where} stream ${index}`, depth + 1);
      await pages(part, where, depth);
    }
    const pixels = await shows(part);
    if (pixels && colour) found.push(`${where}: the picture`);
    if (pixels !== undefined && ocr) await look(Buffer.from(squeezed(await read(part))), `${where} by OCR`, DEEPEST);
  };
  const pages = async (pdf: Buffer, where: string, depth: number): Promise<void> => {
    const folder = await mkdtemp(join(tmpdir(), 'leaks-'));
    try {
      const path = join(folder, 'in.pdf');
      await writeFile(path, pdf);
      const text = await run('/usr/bin/pdftotext', [path, '-'], { maxBuffer: MOST_INFLATED, timeout: 20_000 }).catch(() => undefined);
      await look(Buffer.from(squeezed(text?.stdout ?? '')), `${where} as text`, DEEPEST);
      await run('/usr/bin/pdftoppm', ['-png', '-r', ocr ? '100' : '30', '-l', '2', path, join(folder, 'page')], { timeout: 20_000 }).catch(
        () => undefined,
      );
      for (const name of (await readdir(folder)).filter((each) => each.endsWith('.png')))
        await look(await readFile(join(folder, name)), `${where} drawn`, depth + 1);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  await look(bytes, 'the result', 0);
  return found;
}

const squeezed = (text: string): string => text.replace(/\s+/g, '').toUpperCase();

/** A word as it may stand in a file: in wider characters, in Base64 at each of three places, in hexadecimal. */
function spellings(word: string): readonly (readonly [Buffer, string])[] {
  const base64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), Buffer.from(word)]).toString('base64');
    // Characters that also hold bits of a neighbour are left out.
    return text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + word.length) * 8) / 6));
  });
  return [
    [Buffer.from(word), 'plain'],
    [Buffer.from(word, 'utf16le'), 'UTF-16'],
    [Buffer.from(word, 'utf16le').swap16(), 'UTF-16'],
    [Buffer.from(Buffer.from(word).toString('hex')), 'hexadecimal'],
    ...base64.map((text) => [Buffer.from(text), 'Base64'] as const),
  ];
}

/** Everything between `stream` and `endstream`, inflated where it can be. */
function streamsOf(pdf: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = pdf.indexOf('stream'); at >= 0; ) {
    const end = pdf.indexOf('endstream', at);
    if (end < 0) break;
    const from = pdf[at + 6] === 13 ? at + 8 : at + 7;
    try {
      found.push(inflateSync(pdf.subarray(from, end), { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MOST_INFLATED }));
    } catch {
      // Another filter, whose raw bytes were searched.
    }
    at = pdf.indexOf('stream', end + 9);
  }
  return found;
}

/** Whether a picture shows the canary's colour; undefined for what is no picture. */
async function shows(bytes: Buffer): Promise<boolean | undefined> {
  try {
    const { data, info } = await sharp(bytes, { limitInputPixels: 60_000_000 })
      .resize({ width: 64, height: 64, fit: 'fill', kernel: 'nearest' })
      .removeAlpha()
      .toColourspace('srgb')
      .raw()
      .toBuffer({ resolveWithObject: true });
    for (let at = 0; at + 2 < data.length; at += info.channels)
      if ((data[at] ?? 0) > 200 && (data[at + 1] ?? 255) < 60 && (data[at + 2] ?? 0) > 200) return true;
    return false;
  } catch {
    return undefined;
  }
}

async function read(picture: Buffer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'leaks-'));
  try {
    const path = join(folder, 'picture.png');
    await sharp(picture).flatten({ background: '#fff' }).resize({ width: 1600, withoutEnlargement: false }).png().toFile(path);
    const { stdout } = await run('/usr/bin/tesseract', [path, '-', '-l', 'eng', '--psm', '6'], { env: { OMP_THREAD_LIMIT: '1' } });
    return stdout;
  } catch {
    return '';
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
