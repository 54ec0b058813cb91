/**
 * Fonts in the containers that hold them unchanged: WOFF, Embedded OpenType, collections, resource files of the Mac.
 *
 *   sfnt.ts look INPUT FORMAT            prints one line of JSON: `{"faces": [Face …]}`, or `{"unsupported": "…"}` for what it knows and cannot read
 *   sfnt.ts unpack INPUT FORMAT FOLDER   writes each font into an existing folder, as font-001.sfnt, font-002.sfnt, …
 *   sfnt.ts pack INPUT FORMAT OUTPUT     a font file into a WOFF or an EOT
 *   sfnt.ts prepare INPUT FORMAT OUTPUT  for FontForge: whether a font file, or a `bdf`, is no more work than fonts are, and a font file whose glyphs
 *                                        have names, if they are many; prints an answer as residents give
 *
 * Exits with 1 for a damaged file, and says on stderr what is wrong. Every offset is checked before it is used, and what is unpacked is bounded.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { answering } from '../process/answer.ts';
import { readCollection, readDfont } from './sfnt/collections.ts';
import { isCompressed, readEot, writeEot } from './sfnt/eot.ts';
import { type Face, faceOf, faceOfTags } from './sfnt/face.ts';
import { Damaged, type Font, readFont, writeFont } from './sfnt/font.ts';
import { withNames } from './sfnt/names.ts';
import { hasWoffExtras, readWoff, readWoff2, writeWoff } from './sfnt/web.ts';
import { boundLetters, boundWork } from './sfnt/work.ts';

/** woff2_decompress writes no more (woff2_out.h, kDefaultMaxSize). */
const MOST_WOFF2_BYTES = 30 << 20;
const COLLECTION = 0x7474_6366;

function fontsOf(bytes: Buffer, format: string): readonly Font[] {
  switch (format) {
    case 'woff':
      return [readWoff(bytes)];
    case 'eot':
      return [readEot(bytes)];
    case 'ttc':
      return readCollection(bytes);
    case 'dfont':
      return readDfont(bytes);
    default:
      return [readFont(bytes)];
  }
}

function look(bytes: Buffer, format: string): { readonly faces: readonly Face[] } | { readonly unsupported: string } {
  if (format === 'eot' && isCompressed(bytes)) return { unsupported: 'its font is compressed by MicroType Express' };
  if (format !== 'woff2') {
    const extras = format === 'woff' && hasWoffExtras(bytes);
    return { faces: fontsOf(bytes, format).map((font) => ({ ...faceOf(font), ...(extras && { extras }) })) };
  }
  const { version, tags, size, hasExtras } = readWoff2(bytes);
  if (version === COLLECTION) return { unsupported: 'it is a collection of fonts' };
  if (size > MOST_WOFF2_BYTES) return { unsupported: 'its font has more than 30 MiB' };
  return { faces: [{ ...faceOfTags(tags), ...(hasExtras && { extras: true }) }] };
}

function prepare(bytes: Buffer, format: string, place: string): void {
  if (format === 'bdf') {
    boundLetters(bytes);
    return;
  }
  const font = readFont(bytes);
  boundWork(font);
  const named = withNames(font);
  writeFileSync(place, named === font ? bytes : writeFont(named), { flag: 'wx' });
}

async function main([mode = '', input = '', format = '', place = '']: readonly string[]): Promise<void> {
  const bytes = readFileSync(input);
  if (mode === 'look') process.stdout.write(`${JSON.stringify(look(bytes, format))}\n`);
  else if (mode === 'unpack')
    for (const [index, font] of fontsOf(bytes, format).entries())
      writeFileSync(`${place}/font-${String(index + 1).padStart(3, '0')}.sfnt`, writeFont(font), { flag: 'wx' });
  else if (mode === 'pack') writeFileSync(place, format === 'eot' ? writeEot(readFont(bytes)) : writeWoff(readFont(bytes)), { flag: 'wx' });
  else if (mode === 'prepare')
    await answering(() => {
      prepare(bytes, format, place);
      return [];
    });
  else throw new Error('sfnt.ts look|unpack|pack|prepare INPUT FORMAT [FOLDER|OUTPUT]');
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Damaged)) throw error;
  process.stderr.write(`damaged: ${error.message}\n`);
  process.exitCode = 1;
}
