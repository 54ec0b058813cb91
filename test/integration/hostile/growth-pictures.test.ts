/** Programs of ours that read pictures, each with what could be its worst case: eight times the size takes eight times the time. */
import { proveLinear, type Reader } from './growth.ts';

const u16 = (...values: readonly number[]): Buffer => Buffer.from(values.flatMap((value) => [(value >> 8) & 255, value & 255]));
const u32 = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * at);
  return bytes;
};
const bytes = (...parts: readonly (string | Uint8Array)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));

/** Not by arguments: there may be more than a call takes. */
const many = (count: number, part: (at: number) => Buffer): Buffer => Buffer.concat(Array.from({ length: count }, (_, at) => part(at)));

const raster = (extension: string, file: Reader['file'], count: number, verb = 'decode'): Reader => ({
  program: 'pictures/raster.ts',
  args: (input, output) => [verb, input, output],
  file,
  count,
  extension: `.${extension}`,
});

const property = (type: number, content: Buffer = Buffer.alloc(0)): Buffer => bytes(u32(type, content.length), content);
/** GIMP's: `layers` are told where they begin. @param places of layers in the list, by their number */
function gimp(layers: readonly Buffer[], places: readonly number[] = layers.map((_, at) => at)): Buffer {
  const head = bytes('gimp xcf file\0', u32(8, 8, 0), property(0));
  const begins: number[] = [];
  let at = head.length + 4 * (places.length + 2);
  for (const layer of layers) {
    begins.push(at);
    at += layer.length;
  }
  return bytes(
    head,
    many(places.length, (at) => u32(begins[places[at] ?? 0] ?? 0)),
    u32(0, 0),
    Buffer.concat(layers),
  );
}
const layer = (properties: readonly Buffer[]): Buffer => bytes(u32(8, 8, 0, 1), '\0', Buffer.concat(properties), property(0), u32(0, 0));
const HIDDEN = property(8, u32(0));

const card = (text: string): string => text.padEnd(80);
const unit = (cards: readonly string[]): Buffer => {
  const text = [...cards, 'END'].map(card).join('');
  return Buffer.from(text.padEnd(Math.ceil(text.length / 2880) * 2880));
};
const EMPTY_UNIT = ['SIMPLE  =                    T', 'BITPIX  =                    8', 'NAXIS   =                    0'];

const box = (type: string, ...content: readonly (string | Uint8Array)[]): Buffer => {
  const inside = bytes(...content);
  return bytes(u32(8 + inside.length), type, inside);
};
const heic = (...inside: readonly Buffer[]): Buffer => bytes(box('ftyp', 'heic', u32(0), 'heic'), box('meta', u32(0), ...inside));
const entry = (id: number, type = 'Exif'): Buffer => box('infe', u32(0x0200_0000), u16(id, 0), `${type}\0`);
const infos = (count: number, type = 'Exif'): Buffer =>
  box(
    'iinf',
    u32(0),
    u16(count),
    many(count, (at) => entry(at + 1, type)),
  );
const said = (file: Reader['file'], count: number): Reader => ({
  program: 'pictures/heif.ts',
  args: (input, output) => ['said', input, output, '', `${output}.xmp`, `${output}.app1`],
  file,
  count,
});

/** A TIFF of one directory. */
const tiff = (entries: readonly Buffer[], rest: Buffer = Buffer.alloc(0)): Buffer =>
  bytes('MM', u16(42), u32(8), u16(entries.length), ...entries, u32(0), rest);
const exif = (file: Reader['file'], count: number, extension: string): Reader => ({
  program: 'pictures/exif.ts',
  args: (input, output) => [input, `${output}.jpg`],
  file,
  count,
  extension,
});
const chunk = (name: string, content: Buffer): Buffer => bytes(u32(content.length), name, content, u32(0));

/** @param value of each byte, by its place */
const pam = (width: number, height: number, value: (at: number) => number): Buffer =>
  bytes(
    `P7\nWIDTH ${width}\nHEIGHT ${height}\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n`,
    Uint8Array.from({ length: 3 * width * height }, (_, at) => value(at)),
  );
const noise = (at: number): number => (Math.imul(at + 1, 2_654_435_761) >>> 16) & 255;
const retouch = (operation: string, width: number, height: number, value = noise, more: readonly string[] = []): Reader => ({
  program: 'pictures/retouch.ts',
  args: (input, output) => [operation, input, output, ...more],
  file: (size) => pam(width * size, height, value),
  count: 1,
});

proveLinear({
  'GIMP: layers that lie in one place': raster(
    'xcf',
    (count) =>
      gimp(
        [layer([HIDDEN, ...Array.from({ length: count }, () => property(99))])],
        Array.from({ length: count }, () => 0),
      ),
    20_000,
  ),
  'GIMP: groups within one another': raster(
    'xcf',
    (count) => gimp(Array.from({ length: count }, (_, at) => layer([property(29), property(30, Buffer.alloc(4 * at))]))),
    100,
  ),
  'GIMP: properties': raster('xcf', (count) => gimp([layer(Array.from({ length: count }, () => property(99)))]), 50_000),
  'FITS: units without a picture': raster('fits', (count) => bytes(many(count, () => unit(EMPTY_UNIT))), 2_000),
  'FITS: a unit of a negative size': raster(
    'fits',
    (count) =>
      bytes(
        many(count, () =>
          unit([
            ...EMPTY_UNIT.slice(0, 2),
            'NAXIS   =                    1',
            'NAXIS1  =                    0',
            'PCOUNT  =                -8640',
          ]),
        ),
      ),
    1_000,
  ),
  'FITS: cards': raster('fits', (count) => unit([...EMPTY_UNIT, ...Array.from({ length: count }, () => 'COMMENT =  1')]), 50_000),
  'FITS: pixels': raster(
    'fits',
    (count) =>
      bytes(
        unit([
          'SIMPLE  =                    T',
          'BITPIX  =                   16',
          'NAXIS   =                    2',
          'NAXIS1  =                 1000',
          `NAXIS2  = ${String(count).padStart(20)}`,
        ]),
        Buffer.alloc(2 * 1000 * count, 7),
      ),
    500,
  ),
  'Photoshop: resources': raster(
    'psd',
    (count) =>
      bytes(
        '8BPS',
        u16(1, 0, 0, 0, 1),
        u32(8, 8),
        u16(8, 2),
        u32(768),
        Buffer.alloc(768),
        u32(12 * count),
        bytes('8BIM', u16(1, 0), u32(0)).toString('latin1').repeat(count),
        u32(0),
        u16(0),
        Buffer.alloc(64),
      ),
    100_000,
  ),
  'Photoshop: rows of nothing': raster(
    'psd',
    (count) =>
      bytes(
        '8BPS',
        u16(1, 0, 0, 0, 1),
        u32(count, 1),
        u16(8, 2),
        u32(768),
        Buffer.alloc(768),
        u32(0, 0),
        u16(1),
        Buffer.from([0, 3]).toString('latin1').repeat(count),
        Buffer.from([128, 0, 7]).toString('latin1').repeat(count),
      ),
    50_000,
  ),
  'JPEG-LS: segments': raster(
    'jls',
    (count) => bytes(Buffer.from([255, 216]), Buffer.from([255, 224, 0, 2]).toString('latin1').repeat(count)),
    200_000,
    'inspect',
  ),
  'JPEG-LS: markers': raster('jls', (count) => bytes(Buffer.from([255, 216]), Buffer.alloc(count, 255)), 1_000_000, 'inspect'),
  'HEIF: parts of no size': said(
    (count) =>
      heic(
        infos(1),
        box(
          'iloc',
          u32(0),
          u16(0),
          u16(count),
          many(count, () => u16(9, 0, 65_535)),
        ),
      ),
    2_000,
  ),
  'HEIF: parts in the box before others': said(
    (count) =>
      heic(
        infos(1),
        box('iloc', u32(0x0100_0000), u16(0, 1), u16(1, 1, 0, count), Buffer.alloc(0)),
        many(count, () => box('free')),
        box('idat', 'x'),
      ),
    8_000,
  ),
  'HEIF: items': said((count) => heic(infos(count, 'none'), box('iloc', u32(0, 0))), 8_000),
  'HEIF: profiles': said(
    (count) =>
      heic(
        box(
          'iprp',
          box(
            'ipco',
            many(count, () => box('colr', 'prof', Buffer.alloc(8))),
          ),
        ),
      ),
    20_000,
  ),
  'EXIF: fields': exif(
    (count) =>
      tiff(
        Array.from({ length: count }, () => bytes(u16(270, 2), u32(100_000, 8))),
        Buffer.alloc(100_000),
      ),
    500,
    '.tiff',
  ),
  'EXIF: chunks of a PNG': exif(
    (count) =>
      bytes(
        '\x89PNG\r\n\x1a\n',
        many(count, () => chunk('tEXt', Buffer.alloc(0))),
      ),
    50_000,
    '.png',
  ),
  'retouch: enhance': retouch('enhance', 300, 300),
  'retouch: restore': retouch('restore', 200, 200),
  'retouch: restore what is all scratches': retouch('restore', 200, 200, (at) => (Math.floor(at / 3) % 7 === 0 ? 255 : 60)),
  'retouch: cut': retouch('cut', 300, 300, (at) => (Math.floor(at / 3) % 300 < 150 ? 250 : noise(at))),
  'retouch: upscale': retouch('upscale', 150, 150, noise, ['2']),
});
