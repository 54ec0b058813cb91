/** How many pictures a file holds is known before anything decodes it. */
import { describe, expect, it } from 'vitest';
import { MAX_FRAMES, MAX_PAGES } from '../../../src/catalog/bounds.ts';
import { lookThrough } from '../../../src/catalog/planning/look-through.ts';
import { boundFrames } from '../../../src/catalog/planning/pictures/frames.ts';
import type { Pieces } from '../../../src/catalog/planning/pieces.ts';

const le = (value: number, bytes: number): number[] => Array.from({ length: bytes }, (_, index) => (value >>> (8 * index)) & 255);
const be = (value: number, bytes: number): number[] => le(value, bytes).reverse();
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));

const GIF_HEAD = [...Buffer.from('GIF89a'), 1, 0, 1, 0, 0x80, 0, 0, 1, 2, 3, 4, 5, 6];
/** With a separate table of two colours, and two sub-blocks. */
const GIF_FRAME = [0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0x80, 1, 2, 3, 4, 5, 6, 2, 2, 0x44, 1, 1, 0x2c, 0];
const GIF_DELAY = [0x21, 0xf9, 4, 0, 1, 0, 0, 0];
const gif = (count: number, between: readonly number[] = []): Uint8Array =>
  Uint8Array.from([...GIF_HEAD, ...times(count, () => [...GIF_DELAY, ...GIF_FRAME, ...between]).flat(), 0x3b]);

const pngChunk = (name: string, length: number): number[] => [...be(length, 4), ...Buffer.from(name), ...times(length + 4, () => 0)];
const png = (count: number): Uint8Array =>
  Uint8Array.from([
    ...[0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10],
    ...pngChunk('IHDR', 13),
    ...times(count, () => [...pngChunk('fcTL', 26), ...pngChunk('fdAT', 9)]).flat(),
  ]);

const webp = (count: number): Uint8Array => {
  // Its length is odd: a byte of padding follows.
  const frame = [...Buffer.from('ANMF'), ...le(17, 4), ...times(18, () => 0)];
  return Uint8Array.from([...Buffer.from('RIFF'), 0, 0, 0, 0, ...Buffer.from('WEBP'), ...times(count, () => frame).flat()]);
};

const icon = (count: number): Uint8Array => Uint8Array.from([0, 0, 1, 0, ...le(count, 2), ...times(64, () => 0)]);

/** Directories of one entry, one after the other; the last one points at `end`. */
const tiff = (count: number, end = 0): Uint8Array =>
  Uint8Array.from([
    ...Buffer.from('II'),
    ...le(42, 2),
    ...le(8, 4),
    ...times(count, (index) => [...le(1, 2), ...times(12, () => 0), ...le(index + 1 < count ? 8 + 18 * (index + 1) : end, 4)]).flat(),
  ]);
const bigTiff = (count: number): Uint8Array => {
  const directory = (index: number) => [
    ...be(0, 4),
    ...be(1, 4),
    ...times(20, () => 0),
    ...be(0, 4),
    ...be(index + 1 < count ? 16 + 36 * (index + 1) : 0, 4),
  ];
  return Uint8Array.from([
    ...Buffer.from('MM'),
    ...be(43, 2),
    ...be(8, 2),
    ...be(0, 2),
    ...be(0, 4),
    ...be(16, 4),
    ...times(count, directory).flat(),
  ]);
};

/** Counts what is read. */
const pieces = (bytes: Uint8Array): Pieces & { readonly reads: () => number } => {
  let reads = 0;
  return {
    size: bytes.length,
    reads: () => reads,
    read: (at, length) => bytes.subarray(at, at + length * Math.min(1, ++reads)),
    byte: (at) => bytes[++reads > 0 ? at : 0],
  };
};

describe.each<readonly [string, (count: number) => Uint8Array, number]>([
  ['gif', gif, MAX_FRAMES],
  ['png', png, MAX_FRAMES],
  ['webp', webp, MAX_FRAMES],
  ['ico', icon, MAX_FRAMES],
  ['tiff', tiff, MAX_PAGES],
  ['tiff', bigTiff, MAX_PAGES],
])('the pictures in a %s', (format, make, most) => {
  it(`may be ${most}`, () => {
    expect(() => boundFrames(format, pieces(make(most)))).not.toThrow();
  });

  it('are refused from the next one on, and not counted any further', () => {
    const file = pieces(make(most + 1));
    expect(() => boundFrames(format, file)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ reason: 'input_limit', max: most, received: most + 1 }) }),
    );
    expect(file.reads()).toBeLessThan(8 * (most + 2));
  });

  it('may end in the middle of anything', () => {
    const whole = make(3);
    for (let length = 8; length < whole.length; length++) boundFrames(format, pieces(whole.subarray(0, length)));
  });
});

describe('what is no frame', () => {
  it('hides none: decoders pass over bytes between the blocks of a GIF', () => {
    expect(() => boundFrames('gif', pieces(gif(MAX_FRAMES + 1, [0, 0, 9])))).toThrow(/frames 1001, at most 1000/);
  });

  it('is what stands in the data of another', () => {
    expect(() => boundFrames('gif', pieces(gif(MAX_FRAMES)))).not.toThrow();
  });

  it('lets a TIFF whose directories form a circle not go on for ever', () => {
    expect(() => boundFrames('tiff', pieces(tiff(5, 8)))).toThrow(/pages 2001, at most 2000/);
  });

  it('is any other format', () => {
    expect(() => boundFrames('jpg', pieces(gif(5000)))).not.toThrow();
  });
});

describe('what else is known of a file', () => {
  it('is how a PNG lies by its first EXIF', () => {
    const entry = (tag: number, value: number) => [...be(tag, 2), ...be(3, 2), ...be(1, 4), ...be(value, 2), 0, 0];
    const long = (value: number) => [...be(0x112, 2), ...be(4, 2), ...be(1, 4), ...be(value, 4)];
    const tiff = (...entries: number[][]) => [...Buffer.from('MM'), ...be(42, 2), ...be(8, 4), ...be(entries.length, 2), ...entries.flat()];
    const exif = (value: number) => tiff(entry(0x100, 7), entry(0x112, value));
    const chunk = (name: string, content: readonly number[]) => [...pngChunk(name, content.length).slice(0, 8), ...content, 0, 0, 0, 0];
    const found = (...chunks: number[][]) => lookThrough('png', pieces(Uint8Array.from([...png(1), ...chunks.flat()])));
    const lies = (content: readonly number[]) => found(chunk('eXIf', content)).orientation;
    expect([6, 8, 9, 0].map((value) => lies(exif(value)))).toEqual([6, 8, undefined, undefined]);
    expect(lies(tiff(long(5)))).toBe(5);
    for (let length = 0; length < 32; length++) expect(lies(exif(6).slice(0, length))).toBeUndefined();
    const pixels = chunk('IDAT', [1, 2, 3]);
    expect(found(chunk('eXIf', exif(3)), pixels, chunk('eXIf', exif(8)))).toEqual({ orientation: 3, exifBehind: false });
    expect(found(pixels, chunk('eXIf', exif(8)))).toEqual({ orientation: 8, exifBehind: true });
    expect(found(pixels)).toEqual({});
  });

  it('is how deep the pictures of a HEIC are', () => {
    const box = (type: string, ...content: number[]) => [...be(8 + content.length, 4), ...Buffer.from(type), ...content];
    const pixi = (...bits: number[]) => box('pixi', 0, 0, 0, 0, bits.length, ...bits);
    const properties = box('ipco', ...box('ispe', ...times(12, () => 0)), ...pixi(8), ...pixi(10, 10, 10));
    const heic = [...box('ftyp', ...Buffer.from('heic')), ...box('meta', 0, 0, 0, 0, ...box('hdlr'), ...box('iprp', ...properties))];
    const said = (bytes: readonly number[]) => lookThrough('heic', pieces(Uint8Array.from(bytes))).depth;
    expect(said(heic)).toBe(10);
    expect(said(box('ftyp'))).toBeUndefined();
    for (let length = 0; length < heic.length; length++) expect([undefined, 8, 10]).toContain(said(heic.slice(0, length)));
    // A box that is as long as nothing ends the search.
    expect(said([...box('ftyp'), 0, 0, 0, 1, ...Buffer.from('free'), ...be(0, 4), ...be(0, 4), ...heic])).toBeUndefined();
  });
});
