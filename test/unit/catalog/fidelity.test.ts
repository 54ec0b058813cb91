/** Receipts: what is read of a picture's header, and what is said of the differences. */
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { compare } from '../../../src/catalog/fidelity/fidelity.ts';
import { pictureProperties } from '../../../src/catalog/fidelity/picture.ts';
import { propertiesWithoutRoom } from '../../../src/catalog/fidelity/receipt.ts';
import { receiptInWords, sentenceOf, shortReceipt } from '../../../src/catalog/fidelity/words.ts';
import { BARE, type PictureHeader } from '../../../src/catalog/planning/headers/picture.ts';
import { pictureHeader } from '../../../src/catalog/planning/headers/read.ts';
import { piecesOf } from '../../../src/judge/pieces.ts';

const home = mkdtempSync(join(tmpdir(), 'filemill-headers-'));
afterAll(() => rmSync(home, { recursive: true }));

function headerOf(format: string, bytes: Uint8Array): PictureHeader | undefined {
  const path = join(home, `file.${format}`);
  writeFileSync(path, bytes);
  const fd = openSync(path, 'r');
  try {
    return pictureHeader(format, piecesOf(fd));
  } finally {
    closeSync(fd);
  }
}

/** Noise, so that no two frames are the same. */
const noise = (length: number) => Uint8Array.from({ length }, (_, at) => (at * 7919) % 251);
const raw = (width: number, height: number, channels: 3 | 4, pages = 1) =>
  sharp(noise(width * height * pages * channels), {
    raw: { width, height: height * pages, channels, ...(pages > 1 && { pageHeight: height }) },
  });
const deep = () =>
  sharp(
    Uint16Array.from(noise(60 * 40 * 4), (value) => value * 257),
    { raw: { width: 60, height: 40, channels: 4 } },
  );
const photo = () =>
  raw(60, 40, 3)
    .withExif({ IFD0: { Artist: 'A' } })
    .withIccProfile('p3')
    .withMetadata({ orientation: 6, density: 300 });
const animation = () => raw(20, 10, 4, 3);

/** Written by libvips. */
const FILES: readonly [what: string, format: string, bytes: () => Promise<Buffer>, header: Partial<PictureHeader>][] = [
  [
    'a JPEG on its side',
    'jpg',
    () => photo().jpeg().toBuffer(),
    { width: 40, height: 60, orientation: 6, exif: true, profile: true, density: 300 },
  ],
  [
    'a grey JPEG',
    'jpg',
    () => raw(60, 40, 3).toColourspace('b-w').jpeg().toBuffer(),
    { width: 60, colours: 'grey', exif: false, profile: false },
  ],
  ['a CMYK JPEG', 'jpg', () => raw(60, 40, 3).toColourspace('cmyk').jpeg().toBuffer(), { colours: 'cmyk' }],
  ['a PNG of 16 bits', 'png', () => deep().toColourspace('rgb16').png().toBuffer(), { width: 60, height: 40, depth: 16, alpha: true }],
  ['a PNG with EXIF', 'png', () => photo().png().toBuffer(), { exif: true, profile: true, density: 300 }],
  ['a WebP on its side', 'webp', () => photo().webp().toBuffer(), { width: 40, height: 60, exif: true, profile: true, alpha: false }],
  ['a lossless WebP', 'webp', () => raw(60, 40, 4).webp({ lossless: true }).toBuffer(), { width: 60, height: 40, alpha: true }],
  [
    'an animated WebP',
    'webp',
    () =>
      animation()
        .webp({ loop: 3, delay: [100, 200, 300] })
        .toBuffer(),
    { frames: 3, loops: 3, durationMs: 600 },
  ],
  [
    'an animated GIF',
    'gif',
    () =>
      animation()
        .gif({ loop: 3, delay: [100, 200, 300] })
        .toBuffer(),
    { width: 20, height: 10, frames: 3, loops: 3, durationMs: 600 },
  ],
  [
    'a TIFF',
    'tiff',
    () => deep().toColourspace('rgb16').withMetadata({ density: 300 }).tiff({ compression: 'lzw' }).toBuffer(),
    { width: 60, height: 40, depth: 16, density: 300, frames: 1 },
  ],
  ['an AVIF', 'avif', () => photo().avif({ effort: 0 }).toBuffer(), { depth: 8, exif: true, profile: true, alpha: false }],
  ['an AVIF with alpha', 'avif', () => raw(60, 40, 4).avif({ effort: 0 }).toBuffer(), { width: 60, height: 40, alpha: true }],
];

describe('the header', () => {
  it.each(FILES)('of %s', async (_, format, bytes, header) => {
    expect(headerOf(format, await bytes())).toMatchObject(header);
  });

  it.each(['jpg', 'png', 'webp', 'gif', 'tiff', 'avif'])('of a damaged %s is none, or ends', (format) => {
    for (const size of [0, 4, 30, 3000]) headerOf(format, Buffer.alloc(size, 0xff));
    const loop = Buffer.from('49492a000800000001000001030001000000100000000800', 'hex');
    expect(headerOf('tiff', loop)?.width ?? 0).toBeLessThanOrEqual(16);
  });
});

const aPicture = (more: Partial<PictureHeader> = {}): PictureHeader => ({ ...BARE, width: 400, height: 300, ...more });
const verdictOf = (property: string, source: PictureHeader, result: PictureHeader, target: string, wish = {}) =>
  compare(pictureProperties, source, result, wish, target).find((verdict) => verdict.property === property)?.outcome;

describe('a receipt says', () => {
  it.each([
    ['of what both have that it is kept', 'exif', { exif: true }, { exif: true }, 'jpg', {}, 'kept'],
    ['of what the source does not have nothing', 'exif', {}, { exif: true }, 'jpg', {}, undefined],
    ['of metadata that was to go that it was asked', 'exif', { exif: true }, {}, 'jpg', { strip_metadata: true }, 'asAsked'],
    ['of metadata that the target has no room for that it was adapted', 'exif', { exif: true }, {}, 'gif', {}, 'adapted'],
    ['of metadata that is gone that it is lost', 'exif', { exif: true }, {}, 'webp', {}, 'lost'],
    ['of a size that was asked', 'size', {}, { width: 40, height: 30 }, 'jpg', { img_resize_w: 40 }, 'asAsked'],
    ['of a size that was not asked that it is lost', 'size', {}, { width: 40, height: 30 }, 'jpg', {}, 'lost'],
    ['of deeper channels that nothing is lost', 'depth', { depth: 8 }, { depth: 16 }, 'png', {}, 'kept'],
    ['of 16 bits in a JPEG that they were adapted', 'depth', { depth: 16 }, { depth: 8 }, 'jpg', {}, 'adapted'],
    ['of 16 bits that a PNG could have that they are lost', 'depth', { depth: 16 }, { depth: 8 }, 'png', {}, 'lost'],
    ['of alpha on white in a JPEG that it was adapted', 'alpha', { alpha: true }, {}, 'jpg', {}, 'adapted'],
    ['of a channel that may have been opaque that it does not know', 'alpha', { alpha: true }, {}, 'webp', {}, 'unknown'],
    ['of colour in a grey result that it is lost', 'colours', { colours: 'rgb' }, { colours: 'grey' }, 'png', {}, 'lost'],
    [
      'of an animation that ran three times and runs for ever',
      'repetitions',
      { frames: 2, loops: 3 },
      { frames: 2, loops: 0 },
      'apng',
      {},
      'lost',
    ],
    [
      'of delays in hundredths of a second that they are kept',
      'duration',
      { frames: 2, durationMs: 66 },
      { frames: 2, durationMs: 70 },
      'gif',
      {},
      'kept',
    ],
    ['of a gain map that no target of ours has room for it', 'gain_map', { gainMap: true }, {}, 'jpg', {}, 'adapted'],
  ] as const)('%s', (_, property, source, result, target, wish, outcome) => {
    expect(verdictOf(property, aPicture(source), aPicture(result), target, wish)).toBe(outcome);
  });

  it('in short how much is kept, and what is not', () => {
    const short = shortReceipt(
      compare(pictureProperties, aPicture({ depth: 16, exif: true, alpha: true }), aPicture({ exif: true }), {}, 'jpg'),
    );
    expect(short.kept).toBe(4);
    expect(short.changes.map(({ property, outcome }) => `${property} ${outcome}`)).toEqual(['depth adapted', 'alpha adapted']);
    expect(receiptInWords(short)).toBe('kept 4; adapted 2: depth (16 bits a channel → 8 bits a channel), alpha (transparent)');
    expect(receiptInWords({ kept: 4, changes: [] })).toBeUndefined();
    expect(receiptInWords({ kept: 4, changes: [{ property: 'size', outcome: 'asAsked' }] })).toBeUndefined();
  });

  it.each([
    ['png', 'jpg', ['depth', 'alpha']],
    ['tiff', 'gif', ['depth', 'density', 'profile', 'exif', 'xmp', 'iptc']],
    ['gif', 'png', ['frames', 'duration', 'repetitions']],
    ['flac', 'wav', ['chapters', 'cover']],
    ['docx', 'pdf', ['tracked_changes']],
  ])('before a conversion from %s what a %s has no room for', (from, to, names) => {
    expect(propertiesWithoutRoom(from, to)).toEqual(names);
  });

  it('what is lost in one sentence with numbers', () => {
    const verdicts = compare(pictureProperties, aPicture({ depth: 16, exif: true }), aPicture(), {}, 'png');
    expect(sentenceOf(verdicts, 'lost')).toBe('depth (16 bits a channel → 8 bits a channel), exif (present)');
    expect(sentenceOf(verdicts, 'adapted')).toBeUndefined();
  });
});
