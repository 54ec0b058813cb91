/** Whether pictures made of a document show what its seed says. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { contentOf, VOCABULARY } from '../../catalog/content.ts';
import { NETPBM } from '../pictures/pixels.ts';
import { remembered } from '../remembered.ts';
import { unzip } from './text.ts';

const run = promisify(execFile);

/** Whether one picture, or the pictures of a folder or ZIP taken together, show the seed's words; OCR may miss two of the six. */
export async function judgePicture(path: string, format: string, seed: string): Promise<void> {
  const words = contentOf(seed).words;
  const asIs = await wordsOf(path, format, 'as it is');
  // Reading is what takes long: again only where the first time was neither enough nor showed plainly that other words stand there.
  const first = inOrder(words, asIs);
  const decided = first >= ENOUGH || (first < 2 && known(asIs) >= ENOUGH);
  const seen = decided ? first : Math.max(first, inOrder(words, await wordsOf(path, format, 'as ink')));
  expect(seen, `words of ${words.join(' ')} seen in ${asIs}`).toBeGreaterThanOrEqual(ENOUGH);
}

const ENOUGH = 4;

/** Everything that OCR reads in the pictures. */
const wordsOf = remembered(async (path: string, format: string, how: 'as it is' | 'as ink'): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'filemill-judge-'));
  try {
    let shown = '';
    for (const picture of format === 'pdf' ? await drawnPages(path, folder) : await pictures(path, folder)) {
      const drawn = await draw(picture, format === 'pdf' ? 'png' : format, folder);
      shown += await recognised(how === 'as ink' ? await inked(drawn) : drawn);
    }
    return shown;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** By Poppler, a picture for each page. @returns their paths */
export async function drawnPages(path: string, folder: string): Promise<string[]> {
  await run('pdftoppm', ['-r', '150', '-png', path, join(folder, 'page')]);
  return (await readdir(folder)).sort().map((name) => join(folder, name));
}

async function pictures(path: string, folder: string): Promise<string[]> {
  const natural = new Intl.Collator('en', { numeric: true }).compare;
  if ((await stat(path)).isDirectory()) return (await readdir(path)).sort(natural).map((name) => join(path, name));
  const bytes = await readFile(path);
  if (bytes.subarray(0, 2).toString() !== 'PK') return [path];
  const written: string[] = [];
  for (const [name, part] of [...(await unzip(bytes))].sort(([a], [b]) => natural(a, b))) {
    const to = join(folder, `${written.length}-${name.replace(/\W/g, '.')}`);
    await writeFile(to, part);
    written.push(to);
  }
  return written;
}

async function draw(picture: string, format: string, folder: string): Promise<string> {
  const png = join(folder, 'drawn.png');
  if (format === 'jxl') await run('djxl', [picture, png]);
  else if (format === 'svg')
    await run('rsvg-convert', ['--background-color=white', '--dpi-x=150', '--dpi-y=150', '--output', png, picture]);
  else if (format === 'lbm' || NETPBM[format] !== undefined) {
    const { stdout } = await run(NETPBM[format] ?? 'ilbmtoppm', [picture], { encoding: 'buffer', maxBuffer: 1 << 28 });
    await writeFile(`${png}.pnm`, stdout);
    await run('convert-im6.q16', [`pnm:${png}.pnm`, png]);
  } else
    await run('convert-im6.q16', [`${IM_NAMES[format] ?? format}:${picture}`, '-background', 'white', '-alpha', 'remove', '-append', png]);
  return png;
}

/** Letters on a coloured shape are a picture to Tesseract: what is dark becomes ink, all else paper. */
async function inked(png: string): Promise<string> {
  const ink = `${png}.ink.png`;
  await run('convert-im6.q16', [`png:${png}`, '-colorspace', 'Gray', '-threshold', '40%', `png:${ink}`]);
  return ink;
}

async function recognised(png: string): Promise<string> {
  const { stdout } = await run('tesseract', [png, '-', '-l', 'eng'], { env: { ...process.env, OMP_THREAD_LIMIT: '1' } });
  return stdout;
}

/** How many of the words stand in the text, one after the other. */
function inOrder(words: readonly string[], text: string): number {
  const found = text.toLowerCase().match(/[a-z]+/g) ?? [];
  let from = 0;
  return words.filter((word) => {
    const at = found.findIndex((other, index) => index >= from && nearly(word, other));
    if (at >= 0) from = at + 1;
    return at >= 0;
  }).length;
}

const IM_NAMES: Readonly<Record<string, string>> = { jpg: 'jpeg' };

/** How many words of any seed stand in the text. */
function known(text: string): number {
  const found = text.toLowerCase().match(/[a-z]+/g) ?? [];
  return VOCABULARY.filter((word) => found.some((other) => nearly(word, other))).length;
}

/** Equal but for one letter. */
function nearly(word: string, other: string): boolean {
  if (Math.abs(word.length - other.length) > 1) return false;
  let start = 0;
  while (start < word.length && word[start] === other[start]) start++;
  let end = 0;
  while (end < Math.min(word.length, other.length) - start && word.at(-1 - end) === other.at(-1 - end)) end++;
  return Math.max(word.length, other.length) - start - end <= 1;
}
