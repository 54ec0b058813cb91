/** Pictures made to exhaust, to reach out, or to be taken for something else. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { crc32, deflateSync } from 'node:zlib';
import { expect } from 'vitest';
import { latin1, noise } from '../../kit/catalog/bytes.ts';
import { fixtures } from '../../kit/fixtures/pictures/images.ts';
import { type Case, type Ground, type Mutated, proveHarmless, proveMutationsHarmless, type Trap } from './hostile.ts';

const u16le = (...values: readonly number[]): Buffer =>
  Buffer.concat(values.map((value) => Buffer.from([value & 255, (value >> 8) & 255])));
const u32le = (...values: readonly number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer);
const u32be = (...values: readonly number[]): Buffer => Buffer.from(u32le(...values)).swap32();

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([latin1(type), data]);
  return Buffer.concat([u32be(data.length), body, u32be(crc32(body))]);
}

interface Png {
  readonly width?: number;
  readonly height?: number;
  readonly depth?: number;
  readonly colour?: number;
  /** Between header and pixels. */
  readonly chunks?: readonly Buffer[];
  readonly pixels?: Buffer;
}

/** A grey PNG; the header may lie about what follows. */
const png = ({ width = 8, height = 8, depth = 8, colour = 0, chunks = [], pixels }: Png = {}): Buffer =>
  Buffer.concat([
    latin1('\x89PNG\r\n\x1a\n'),
    chunk('IHDR', Buffer.concat([u32be(width, height), Buffer.from([depth, colour, 0, 0, 0])])),
    ...chunks,
    chunk('IDAT', pixels ?? deflateSync(Buffer.alloc((width + 1) * height))),
    chunk('IEND', Buffer.alloc(0)),
  ]);

/** Nothing but zeros once inflated. */
const zeros = (bytes: number): Buffer => deflateSync(Buffer.alloc(bytes), { level: 9 });

/** A JPEG up to its scan. */
const jpeg = (width: number, height: number): Buffer =>
  Buffer.concat([
    latin1('\xff\xd8\xff\xdb\0\x43\0'),
    Buffer.alloc(64, 1),
    latin1('\xff\xc0\0\x0b\x08'),
    Buffer.from([height >> 8, height & 255, width >> 8, width & 255]),
    latin1('\x01\x01\x11\0\xff\xc4\0\x14\0\x01'),
    Buffer.alloc(16),
    latin1('\xff\xc4\0\x14\x10\x01'),
    Buffer.alloc(16),
    latin1('\xff\xda\0\x08\x01\x01\0\0\x3f\0\0\xff\xd9'),
  ]);

/** A little-endian TIFF of one directory. @param tags tag, type, count, value */
function tiff(tags: readonly (readonly [number, number, number, number])[], next = 0): Buffer {
  const rows = tags.map(([tag, type, count, value]) => Buffer.concat([u16le(tag, type), u32le(count, value)]));
  return Buffer.concat([latin1('II*\0'), u32le(8), u16le(tags.length), ...rows, u32le(next), Buffer.alloc(64, 0x55)]);
}

const plainTiff = (width: number, height: number, strips = 1, next = 0): Buffer =>
  tiff(
    [
      [256, 4, 1, width],
      [257, 4, 1, height],
      [258, 3, 1, 8],
      [259, 3, 1, 1],
      [262, 3, 1, 1],
      [273, 4, strips, 120],
      [278, 4, 1, 1],
      [279, 4, strips, 8],
    ],
    next,
  );

const bmp = (width: number, height: number, compression = 0, colours = 0): Buffer =>
  Buffer.concat([
    latin1('BM'),
    u32le(118, 0, 54, 40, width >>> 0, height >>> 0),
    u16le(1, 24),
    u32le(compression, 0, 0, 0, colours, 0),
    Buffer.alloc(64, 0x33),
  ]);

/** Any first bytes with noise behind them. */
const headed = (head: Buffer | string): Buffer => Buffer.concat([Buffer.from(head as string, 'latin1'), noise(400, 5)]);

const svg = (inner: string, attributes = 'width="200" height="100"', before = ''): string =>
  `<?xml version="1.0"?>${before}<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xi="http://www.w3.org/2001/XInclude" ${attributes}><rect width="10" height="10" fill="green"/>${inner}</svg>`;

const image = (href: string, attribute = 'href'): string => `<image ${attribute}="${href}" width="200" height="100"/>`;

/** An ICC profile header that promises more than there is. */
const profile = Buffer.concat([u32be(0xffff_ff00), latin1('lcms\x04\x30\0\0mntrRGB XYZ '), Buffer.alloc(92), u32be(0x00ff_ffff)]);

const GIF = Buffer.from('R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=', 'base64');
const REACH: readonly (readonly [string, (trap: Trap) => string])[] = [
  ['over HTTP', ({ url }) => image(`${url}/a.png`)],
  ['over HTTP, the old way', ({ url }) => image(`${url}/a.png`, 'xlink:href')],
  ['by a file URL', ({ picture }) => image(`file://${picture}`)],
  ['by a plain path', ({ picture }) => image(picture)],
  ['by climbing up', ({ picture }) => image(`../../../../../../../..${picture}`)],
  ['by climbing up, percent-encoded', ({ picture }) => image(`.%2e/.%2e/.%2e/.%2e/.%2e/.%2e/.%2e${picture}`)],
  ['from a host without scheme', ({ port }) => image(`//127.0.0.1:${port}/share/a.png`)],
  ['from a share', ({ port }) => image(`smb://127.0.0.1:${port}/share/a.png`)],
  [
    'by a nested drawing',
    ({ picture, url }) =>
      image(`data:image/svg+xml;base64,${Buffer.from(svg(image(`file://${picture}`) + image(`${url}/n`))).toString('base64')}`),
  ],
  [
    'by a style sheet',
    ({ url, text }) => `<style>@import url("${url}/a.css");@import url("file://${text}");rect{fill:url(${url}/p.svg#p)}</style>`,
  ],
  ['by a processing instruction', ({ url }) => `<?xml-stylesheet href="${url}/a.css"?>`],
  ['by a font', ({ url }) => `<style>@font-face{font-family:f;src:url(${url}/f.ttf)}</style><text y="50" font-family="f">x</text>`],
  [
    'by a filter',
    ({ picture, url }) =>
      `<filter id="f"><feImage href="file://${picture}"/><feImage href="${url}/f"/></filter><rect width="200" height="100" filter="url(#f)"/>`,
  ],
  ['by use', ({ url, text }) => `<use href="${url}/x.svg#a"/><use href="file://${text}#a"/>`],
  [
    'by script',
    ({ url }) =>
      `<script>fetch("${url}/s")</script><script href="${url}/t"/><foreignObject width="9" height="9"><iframe xmlns="http://www.w3.org/1999/xhtml" src="${url}/u"/></foreignObject>`,
  ],
  ['into a neighbour', ({ neighbours }) => neighbours.map((path) => image(`file://${path}`)).join('')],
];

const DRAWINGS: readonly Case[] = [
  ...REACH.flatMap(([how, inner]) =>
    ['png', 'pdf'].map(
      (to): Case => ({
        name: `a drawing that reaches out ${how}`,
        file: (trap) => svg(inner(trap)),
        as: 'a.svg',
        to,
        ends: ['neutral', 'fail'],
        ocr: to === 'png',
      }),
    ),
  ),
  {
    name: 'a drawing with an inclusion',
    file: ({ text }) =>
      svg(
        `<text y="50"><xi:include href="file://${text}" parse="text"/></text><text y="80"><xi:include href="..${text}" parse="text"><xi:fallback><xi:include href=".?../../../../../../../..${text}" parse="text"/></xi:fallback></xi:include></text>`,
      ),
    as: 'a.svg',
    to: 'png',
    ends: ['neutral', 'fail'],
    ocr: true,
  },
  {
    name: 'a drawing with the inclusion of CVE-2023-38633',
    file: svg('<text y="50"><xi:include href=".?../../../../../../../../../../etc/passwd" parse="text" encoding="UTF-8"/></text>'),
    as: 'a.svg',
    to: 'png',
    ends: ['neutral', 'fail'],
    ocr: true,
    judge: (output) => expect(output.length).toBeLessThan(5000),
  },
  {
    name: 'a drawing with external entities',
    file: ({ text, url }) =>
      svg(
        '<text y="50">&a;&b;</text>',
        undefined,
        `<!DOCTYPE svg [<!ENTITY a SYSTEM "file://${text}"><!ENTITY b SYSTEM "${url}/e"><!ENTITY % c SYSTEM "${url}/p">%c;]>`,
      ),
    as: 'a.svg',
    to: 'png',
    ends: ['neutral', 'fail'],
    ocr: true,
  },
  {
    name: 'a drawing with a billion laughs',
    file: svg(
      '<text y="50">&l9;</text>',
      undefined,
      `<!DOCTYPE svg [<!ENTITY l0 "ha">${Array.from({ length: 9 }, (_, i) => `<!ENTITY l${i + 1} "${`&l${i};`.repeat(10)}">`).join('')}]>`,
    ),
    as: 'a.svg',
    to: 'png',
    ends: 'fail',
  },
  {
    name: 'a drawing with one long entity many times',
    file: svg(`<text y="50">${'&l;'.repeat(40_000)}</text>`, undefined, `<!DOCTYPE svg [<!ENTITY l "${'x'.repeat(40_000)}">]>`),
    as: 'a.svg',
    to: 'png',
    ends: 'fail',
  },
  {
    name: 'a drawing of a million pixels a side',
    file: svg('', 'width="1000000" height="1000000"'),
    as: 'a.svg',
    to: 'png',
    ends: 'fail',
    why: ['input_limit', 'memory'],
  },
  {
    name: 'a drawing with a huge view box only',
    file: svg('', 'viewBox="0 0 1000000 1000000"'),
    as: 'a.svg',
    to: 'png',
    ends: 'fail',
    why: ['input_limit', 'memory'],
  },
  {
    name: 'a drawing just too large for a picture',
    file: svg('', 'width="20000" height="20000"'),
    as: 'a.svg',
    to: 'png',
    ends: 'fail',
    why: ['input_limit', 'memory'],
  },
  {
    name: 'a drawing without extent',
    file: svg('', 'width="0" height="-5" viewBox="0 0 nan 1e999"'),
    as: 'a.svg',
    to: 'png',
    ends: ['fail', 'neutral'],
  },
  {
    name: 'a drawing of copies of copies',
    file: svg(
      `<g id="a0"><rect width="1" height="1"/></g>${Array.from({ length: 12 }, (_, i) => `<g id="a${i + 1}">${`<use href="#a${i}"/>`.repeat(10)}</g>`).join('')}`,
    ),
    as: 'a.svg',
    to: 'png',
    ends: 'fail',
  },
  {
    name: 'a drawing of itself',
    file: svg(
      '<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g><pattern id="p" width="1" height="1"><rect width="9" height="9" fill="url(#p)"/></pattern><rect width="99" height="99" fill="url(#p)"/>',
    ),
    as: 'a.svg',
    to: 'png',
    ends: ['neutral', 'fail'],
  },
  { name: 'a drawing that is too deep', file: svg('<g>'.repeat(100_000) + '</g>'.repeat(100_000)), as: 'a.svg', to: 'png', ends: 'fail' },
  {
    name: 'a drawing with huge filters',
    file: svg(
      `<filter id="f" x="-100000" y="-100000" width="1000000" height="1000000" filterUnits="userSpaceOnUse" primitiveUnits="userSpaceOnUse">${'<feGaussianBlur stdDeviation="100000"/><feTurbulence baseFrequency="9" numOctaves="1000000"/><feMorphology radius="100000"/>'.repeat(20)}</filter><rect width="200" height="100" filter="url(#f)"/>`,
    ),
    as: 'a.svg',
    to: 'png',
    ends: ['neutral', 'fail'],
  },
  { name: 'a drawing that is no more than its name', file: '<svg', as: 'a.svg', to: 'png', ends: ['fail', 'reject'] },
  {
    name: 'a drawing that is packed',
    file: Buffer.concat([latin1('\x1f\x8b\x08\0'), noise(99, 1)]),
    as: 'a.svgz',
    to: 'png',
    ends: 'reject',
    why: 'UNSUPPORTED_MIME',
  },
];

const BOMBS: readonly Case[] = [
  {
    name: 'a PNG of 50 000 by 50 000',
    file: png({ width: 50_000, height: 50_000, colour: 2, pixels: zeros(1_000_000) }),
    as: 'a.png',
    to: 'jpg',
    ends: 'fail',
    why: 'input_limit',
  },
  {
    name: 'the same to a format of another engine',
    file: png({ width: 50_000, height: 50_000, depth: 1, pixels: zeros(1_000_000) }),
    as: 'a.png',
    to: 'bmp',
    ends: 'fail',
    why: ['input_limit', 'corrupt_input'],
  },
  {
    name: 'a PNG of 1 bit and 50 000 by 50 000',
    file: png({ width: 50_000, height: 50_000, depth: 1, pixels: zeros(1_000_000) }),
    as: 'a.png',
    to: 'webp',
    ends: 'fail',
    why: 'input_limit',
  },
  {
    name: 'a PNG that is read by OCR, of 50 000 by 50 000',
    file: png({ width: 50_000, height: 50_000, depth: 1, pixels: zeros(50_000_000) }),
    as: 'a.png',
    to: 'txt',
    ends: 'fail',
    why: ['input_limit', 'corrupt_input', 'memory'],
  },
  {
    name: 'a PNG to JPEG XL, of 50 000 by 50 000',
    file: png({ width: 50_000, height: 50_000, depth: 1, pixels: zeros(50_000_000) }),
    as: 'a.png',
    to: 'jxl',
    ends: 'fail',
    why: ['input_limit', 'corrupt_input', 'memory'],
  },
  { name: 'a JPEG to HEIC, of 65 535 by 65 535', file: jpeg(65_535, 65_535), as: 'a.jpg', to: 'heic', ends: 'fail' },
  {
    name: 'a PNG to PDF, of 50 000 by 50 000',
    file: png({ width: 50_000, height: 50_000, depth: 1, pixels: zeros(1_000_000) }),
    as: 'a.png',
    to: 'pdf',
    ends: 'fail',
    why: ['input_limit', 'corrupt_input'],
  },
  {
    name: 'a PNG of 2³¹ − 1 by 1',
    file: png({ width: 0x7fff_ffff, height: 1, pixels: zeros(1000) }),
    as: 'a.png',
    to: 'jpg',
    ends: 'fail',
  },
  { name: 'a JPEG of 65 535 by 65 535', file: jpeg(65_535, 65_535), as: 'a.jpg', to: 'png', ends: 'fail' },
  { name: 'a TIFF of 2³¹ strips', file: plainTiff(1000, 1000, 0x7fff_ffff), as: 'a.tif', to: 'png', ends: 'fail' },
  { name: 'a TIFF of 2³² by 2³² pixels', file: plainTiff(0xffff_ffff, 0xffff_ffff), as: 'a.tif', to: 'png', ends: 'fail' },
  { name: 'a TIFF whose directory follows itself', file: plainTiff(8, 1, 1, 8), as: 'a.tif', to: 'png', ends: ['fail', 'neutral'] },
  {
    name: 'a TIFF of absurd samples',
    file: tiff([
      [256, 4, 1, 30_000],
      [257, 4, 1, 3000],
      [258, 3, 65_000, 8],
      [259, 3, 1, 5],
      [262, 3, 1, 2],
      [277, 3, 1, 65_000],
      [273, 4, 1, 120],
      [278, 4, 1, 0xffff_ffff],
      [279, 4, 1, 0xffff_ffff],
    ]),
    as: 'a.tif',
    to: 'jpg',
    ends: 'fail',
  },
  { name: 'a BMP of negative height', file: bmp(4, -4), as: 'a.bmp', to: 'png', ends: ['neutral', 'fail'] },
  { name: 'a BMP of the most negative height', file: bmp(4, -0x8000_0000), as: 'a.bmp', to: 'png', ends: 'fail' },
  { name: 'a BMP of 2³¹ − 1 lines', file: bmp(0x7fff_ffff, 0x7fff_ffff), as: 'a.bmp', to: 'png', ends: 'fail' },
  { name: 'a BMP with 2³² − 1 colours', file: bmp(4, 4, 1, 0xffff_ffff), as: 'a.bmp', to: 'png', ends: ['fail', 'neutral'] },
  {
    name: 'a PNG with a comment of 400 MB',
    file: () => png({ chunks: Array.from({ length: 4 }, () => chunk('zTXt', Buffer.concat([latin1('Comment\0\0'), zeros(100_000_000)]))) }),
    as: 'a.png',
    to: 'jpg',
    ends: ['neutral', 'fail'],
  },
  {
    name: 'the same to a format of another engine',
    file: () => png({ chunks: Array.from({ length: 4 }, () => chunk('zTXt', Buffer.concat([latin1('Comment\0\0'), zeros(100_000_000)]))) }),
    as: 'a.png',
    to: 'tga',
    ends: ['neutral', 'fail'],
  },
  {
    name: 'a PNG with a colour profile of 200 MB',
    file: () =>
      png({
        colour: 2,
        pixels: deflateSync(Buffer.alloc(25 * 8)),
        chunks: [chunk('iCCP', Buffer.concat([latin1('p\0\0'), zeros(200_000_000)]))],
      }),
    as: 'a.png',
    to: 'jpg',
    ends: ['neutral', 'fail'],
  },
  {
    name: 'a PNG with a broken colour profile',
    file: png({
      colour: 2,
      pixels: deflateSync(Buffer.alloc(25 * 8)),
      chunks: [chunk('iCCP', Buffer.concat([latin1('p\0\0'), deflateSync(profile)]))],
    }),
    as: 'a.png',
    to: 'jpg',
    ends: ['neutral', 'fail'],
  },
  {
    name: 'a PNG that says a file is its profile',
    file: ({ text }) =>
      png({
        chunks: [
          chunk('tEXt', latin1(`profile\0${text}`)),
          chunk('tEXt', latin1(`Raw profile type exif\0\n${text}`)),
          chunk('iTXt', latin1(`XML:com.adobe.xmp\0\0\0\0\0<x file="${text}"/>`)),
        ],
      }),
    as: 'a.png',
    to: 'jpg',
    ends: ['neutral', 'fail'],
  },
  {
    name: 'a PNG that says a file is its profile, to a format of another engine',
    file: ({ text }) =>
      png({ chunks: [chunk('tEXt', latin1(`profile\0${text}`)), chunk('tEXt', latin1(`comment\0@${text} %[${text}] %@`))] }),
    as: 'a.png',
    to: 'ico',
    ends: ['neutral', 'fail'],
  },
  {
    name: 'an animation of 5 000 frames',
    file: Buffer.concat([GIF.subarray(0, 19), ...Array.from({ length: 5000 }, () => GIF.subarray(19, -1)), latin1(';')]),
    as: 'a.gif',
    to: 'webp',
    ends: 'fail',
    why: 'input_limit',
  },
  {
    // Readers take a screen as large as that for a slip, and the frames' own size.
    name: 'an animation of 65 535 by 65 535 with small frames',
    file: Buffer.concat([latin1('GIF89a\xff\xff\xff\xff\x80\0\0'), GIF.subarray(13)]),
    as: 'a.gif',
    to: 'webp',
    ends: ['fail', 'neutral'],
  },
  {
    name: 'a lossless WebP with broken Huffman tables',
    file: webp(Buffer.concat([latin1('\x2f\xff\xc3\xff\x10'), Buffer.alloc(3000, 0xff)])),
    as: 'a.webp',
    to: 'png',
    ends: 'fail',
  },
  {
    name: 'a lossless WebP with a colour cache beyond its tables',
    file: webp(Buffer.concat([latin1('\x2f\x00\x00\x00\x10\x88\x88\x08'), noise(2000, 3)])),
    as: 'a.webp',
    to: 'png',
    ends: ['fail', 'neutral'],
  },
  {
    name: 'a JPEG 2000 of extreme size',
    file: Buffer.concat([
      latin1('\xff\x4f\xff\x51\0\x2f\0\0'),
      u32be(0xffff_fff0, 0xffff_fff0, 0, 0, 1, 1, 0, 0),
      latin1(
        '\0\x03\x07\x01\x01\x07\x01\x01\x07\x01\x01\xff\x52\0\x0c\0\0\0\x01\0\x20\x04\x04\0\0\xff\x90\0\x0a\0\0\0\0\0\0\0\x01\xff\x93',
      ),
    ]),
    as: 'a.jp2',
    to: 'png',
    ends: 'fail',
  },
  {
    name: 'a DDS of extreme size',
    file: Buffer.concat([
      latin1('DDS '),
      u32le(124, 0x1007, 0xffff_fff0, 0xffff_fff0, 0, 0, 99),
      Buffer.alloc(44),
      u32le(32, 4),
      latin1('DXT1'),
      Buffer.alloc(60),
    ]),
    as: 'a.dds',
    to: 'png',
    ends: 'fail',
  },
  {
    name: 'a Radiance picture of extreme size',
    file: '#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 999999999 +X 999999999\n',
    as: 'a.hdr',
    to: 'png',
    ends: 'fail',
  },
  {
    name: 'a FITS of extreme size',
    file: [
      'SIMPLE  =                    T',
      'BITPIX  =                    8',
      'NAXIS   =                    2',
      'NAXIS1  =           2000000000',
      'NAXIS2  =           2000000000',
      'END',
    ]
      .map((card) => card.padEnd(80))
      .join('')
      .padEnd(5760),
    as: 'a.fits',
    to: 'png',
    ends: 'fail',
  },
  {
    name: 'a PAM of extreme size',
    file: 'P7\nWIDTH 99999999\nHEIGHT 99999999\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\nxxxx',
    as: 'a.pam',
    to: 'png',
    ends: 'fail',
  },
  {
    name: 'a PPM with a flood of comments',
    file: `P6\n${'# x\n'.repeat(500_000)}4 4\n255\n${'x'.repeat(48)}`,
    as: 'a.ppm',
    to: 'png',
    ends: ['fail', 'neutral', 'reject'],
  },
  { name: 'a PPM of extreme size', file: 'P6\n999999999 999999999\n255\nxxxx', as: 'a.ppm', to: 'png', ends: 'fail' },
  {
    name: 'an icon of 65 535 pictures',
    file: Buffer.concat([
      u16le(0, 1, 65_535),
      ...Array.from({ length: 65_535 }, () => Buffer.concat([Buffer.from([0, 0, 0, 0]), u16le(1, 32), u32le(40, 6 + 16 * 65_535)])),
      u32le(40, 16, 32),
      u16le(1, 32),
      Buffer.alloc(2000),
    ]),
    as: 'a.ico',
    to: 'png',
    ends: 'fail',
  },
  {
    name: 'a PSD of extreme size',
    file: Buffer.concat([
      latin1('8BPS\0\x01\0\0\0\0\0\0\0\x03'),
      u32be(300_000, 300_000),
      latin1('\0\x08\0\x03'),
      u32be(0, 0, 0),
      latin1('\0\x01'),
      noise(200, 1),
    ]),
    as: 'a.psd',
    to: 'png',
    ends: 'fail',
  },
  {
    name: 'a PSD with 32 767 layers',
    file: Buffer.concat([
      latin1('8BPS\0\x01\0\0\0\0\0\0\0\x03'),
      u32be(64, 64),
      latin1('\0\x08\0\x03'),
      u32be(0, 0),
      u32be(2_000_008, 2_000_000),
      latin1('\x7f\xff'),
      Buffer.alloc(2_000_000),
      latin1('\0\0'),
      Buffer.alloc(64 * 64 * 3),
    ]),
    as: 'a.psd',
    to: 'png',
    ends: ['fail', 'neutral'],
  },
  {
    name: 'an XCF with 100 000 layers at one place',
    file: Buffer.concat([
      latin1('gimp xcf file\0'),
      u32be(64, 64, 0, 0, 0),
      ...Array.from({ length: 100_000 }, () => u32be(30)),
      u32be(0, 0),
    ]),
    as: 'a.xcf',
    to: 'png',
    ends: 'fail',
  },
  {
    name: 'an XBM of extreme size',
    file: '#define a_width 99999999\n#define a_height 99999999\nstatic char a_bits[] = { 0x00 };',
    as: 'a.xbm',
    to: 'png',
    ends: ['fail', 'reject'],
  },
  {
    name: 'an XPM of extreme size',
    file: '/* XPM */\nstatic char *a[] = {\n"99999999 99999999 99999999 8",\n"a c #000000",\n"aaaa" };',
    as: 'a.xpm',
    to: 'png',
    ends: 'fail',
  },
  {
    name: 'a PICT that runs on',
    file: Buffer.concat([Buffer.alloc(522), latin1('\0\x11\x02\xff\x0c\0'), noise(4000, 9)]),
    as: 'a.pict',
    to: 'png',
    ends: ['fail', 'neutral'],
  },
];

const SCRIPTS: readonly Case[] = [
  ...[
    '%!PS-Adobe-3.0 EPSF-3.0\n(%pipe%id) (r) file\n',
    '\x04%!PS\n',
    `${latin1('\xc5\xd0\xd3\xc6').toString('latin1')}\x1e\0\0\0`,
    '\x1b%-12345X@PJL\n%!PS\n',
  ].flatMap((file, index) =>
    ['a.eps', 'a.png'].map(
      (as): Case => ({
        name: `a PostScript program (${index}) as ${as}`,
        file: Buffer.from(file, 'latin1'),
        as,
        to: 'pdf',
        ends: 'reject',
        why: 'UNSUPPORTED_MIME',
      }),
    ),
  ),
  ...['a.mvg', 'a.svg', 'a.png'].map(
    (as): Case => ({
      name: `a drawing script as ${as}`,
      file: ({ url, picture }) =>
        `push graphic-context\nviewbox 0 0 640 480\nimage over 0,0 0,0 '${url}/m'\nimage over 0,0 9,9 '${picture}'\npop graphic-context\n`,
      as,
      to: 'png',
      ends: 'reject',
      why: 'UNSUPPORTED_MIME',
    }),
  ),
  ...['a.msl', 'a.svg'].map(
    (as): Case => ({
      name: `an image script as ${as}`,
      file: ({ folder, picture }) =>
        `<?xml version="1.0"?><image><read filename="${picture}"/><write filename="${folder}/made.png"/></image>`,
      as,
      to: 'png',
      ends: 'reject',
      why: 'UNSUPPORTED_MIME',
    }),
  ),
  {
    name: 'a list of pictures',
    // A text, which becomes a picture of these words: the canary's own words are looked for in it.
    file: ({ picture }) => `@${picture}\ntext:${picture}\nlabel:@${picture}\n`,
    as: 'a.png',
    to: 'jpg',
    ends: 'neutral',
    ocr: true,
  },
  {
    name: 'a cache of ImageMagick',
    file: 'id=MagickCache\nclass=DirectClass columns=9 rows=9\n:\x1a',
    as: 'a.mpc',
    to: 'png',
    ends: 'reject',
    why: 'UNSUPPORTED_MIME',
  },
  {
    name: 'a picture with a page behind it',
    file: ({ url }) => Buffer.concat([GIF, Buffer.from(`<html><script>location="${url}"</script>CANARYTAIL`)]),
    as: 'a.gif',
    to: 'gif',
    ends: 'neutral',
    judge: (output) => expect(output.includes('CANARYTAIL') || output.includes('<html>')).toBe(false),
  },
  {
    name: 'a picture with an archive behind it',
    file: Buffer.concat([png(), latin1('PK\x03\x04CANARYTAIL'), noise(99, 2)]),
    as: 'a.jar',
    to: 'png',
    ends: 'neutral',
    judge: (output) => expect(output.includes('CANARYTAIL')).toBe(false),
  },
  {
    name: 'a JPEG with a program in its comment',
    file: async () => {
      const good = await readFile(await build('jpg'));
      return Buffer.concat([good.subarray(0, 2), latin1('\xff\xfe\0\x2d<?php system($_GET[1]); ?>CANARYTAIL........'), good.subarray(2)]);
    },
    as: 'a.php.jpg',
    to: 'jpg',
    fields: { strip_metadata: 'true' },
    ends: ['neutral', 'fail'],
    judge: (output) => expect(output.includes('<?php')).toBe(false),
  },
];

const MAGIC: readonly (readonly [string, string])[] = [
  ['png', '\x89PNG\r\n\x1a\n'],
  ['jpg', '\xff\xd8\xff'],
  ['jpg', '\xff\xd8\xff\xe0'],
  ['gif', 'GIF89a'],
  ['webp', 'RIFF\xff\xff\xff\xffWEBP'],
  ['webp', 'RIFF\x10\0\0\0WEBPVP8L'],
  ['jp2', '\xff\x4f\xff\x51'],
  ['jp2', '\0\0\0\x0cjP  \r\n\x87\n'],
  ['jxl', '\0\0\0\x0cJXL \r\n\x87\n'],
  ['psd', '8BPS\0\x01'],
  ['xcf', 'gimp xcf v011\0'],
  ['exr', '\x76\x2f\x31\x01'],
  ['dds', 'DDS \x7c\0\0\0'],
  ['hdr', '#?RADIANCE'],
  ['dpx', 'SDPX'],
  ['fits', 'SIMPLE  =                    T'],
  ['ras', '\x59\xa6\x6a\x95'],
  ['sgi', '\x01\xda\x01\x01\0\x03'],
  ['tiff', 'II*\0'],
  ['tiff', 'MM\0*'],
  ['tiff', 'II+\0\x08\0\0\0'],
  ['bmp', 'BM\0\0\0\0\0\0\0\0\0\0\0\0\x28\0\0\0'],
  ['ico', '\0\0\x01\0\x01\0'],
  ['pcx', '\x0a\x05\x01\x08'],
  ['avif', '\0\0\0\x14ftypavif\0\0\0\0avif'],
  ['heic', '\0\0\0\x14ftypheic\0\0\0\0heic'],
  ['ppm', 'P6\n4 4\n255\n'],
  ['pam', 'P7\n'],
  ['xpm', '/* XPM */'],
  ['xbm', '#define x_width 8\nx_bits[]'],
  ['pict', `${'\0'.repeat(522)}\0\x11\x02\xff`],
  ['tga', '\0\0\x02\0\0\0\0\0\0\0\0\0\x04\0\x04\0\x18\0'],
];

const FRAGMENTS: readonly Case[] = MAGIC.flatMap(([format, magic], index) => [
  {
    name: `nothing but the signature of ${format} (${index})`,
    file: latin1(magic),
    as: `a.${format}`,
    to: format === 'png' ? 'jpg' : 'png',
    // Two letters and a line break are a text, too.
    ends: /^[\x20-\x7e\s]+$/.test(magic) ? ['reject', 'fail', 'neutral'] : ['reject', 'fail'],
  } satisfies Case,
  {
    name: `the signature of ${format} (${index}) and noise`,
    file: headed(magic),
    as: `a.${format}`,
    to: format === 'png' ? 'jpg' : 'png',
    ends: ['reject', 'fail', 'neutral'],
  } satisfies Case,
]);

function webp(vp8l: Buffer): Buffer {
  const body = Buffer.concat([latin1('WEBPVP8L'), u32le(vp8l.length), vp8l, Buffer.alloc(vp8l.length % 2)]);
  return Buffer.concat([latin1('RIFF'), u32le(body.length), body]);
}

let folder = '';
async function build(format: string, place?: string): Promise<string> {
  const { mkdtemp } = await import('node:fs/promises');
  folder ||= await mkdtemp('/tmp/hostile-images-');
  return (await fixtures[format]?.('kestrel', place ?? folder)) ?? '';
}

const mutation = (source: string, to: string): Mutated => ({ source, to, bytes: async (place) => readFile(await build(source, place)) });
const ground: Ground = { honest: { name: 'honest.png', bytes: png(), to: 'webp' } };

const MANY = 100_000;
const APNG_FRAME = Buffer.concat([chunk('fcTL', Buffer.alloc(26)), chunk('fdAT', Buffer.alloc(12))]);
const WEBP_FRAME = Buffer.concat([latin1('ANMF'), u32le(24), Buffer.alloc(24)]);
const CROWDS: Readonly<Record<string, () => Buffer>> = {
  'a.gif': () => Buffer.concat([GIF.subarray(0, 19), ...Array.from({ length: MANY }, () => GIF.subarray(19, -1)), latin1(';')]),
  'a.png': () => png({ chunks: [chunk('acTL', u32be(MANY, 0)), ...Array.from({ length: MANY }, () => APNG_FRAME)] }),
  'a.webp': () => {
    const frames = [
      latin1('WEBPVP8X'),
      u32le(10),
      Buffer.from([2, 0, 0, 0, 7, 0, 0, 7, 0, 0]),
      ...Array.from({ length: MANY }, () => WEBP_FRAME),
    ];
    const body = Buffer.concat(frames);
    return Buffer.concat([latin1('RIFF'), u32le(body.length), body]);
  },
  // Each directory is that of one pixel; the next one follows at once.
  'a.tiff': () => {
    const page = (index: number) => tiff([[256, 3, 1, 1]], index + 1 < 60_000 ? 8 + 18 * (index + 1) : 0).subarray(8, 26);
    return Buffer.concat([latin1('II*\0'), u32le(8), ...Array.from({ length: 60_000 }, (_, index) => page(index))]);
  },
};

/** Each engine that reads them: libheif, Tesseract, ImageMagick, FFmpeg, libvips. */
const CROWDED: readonly Case[] = Object.entries({
  'a.gif': ['heic', 'txt', 'mp4', 'tga', 'pdf'],
  'a.png': ['heic', 'txt', 'jxl', 'jpg'],
  'a.webp': ['heic', 'txt', 'pdf', 'gif'],
  'a.tiff': ['txt', 'pdf', 'webp'],
}).flatMap(([as, targets]) =>
  targets.map(
    (to): Case => ({
      name: `more pictures than anybody looks at in ${as}`,
      file: CROWDS[as] ?? '',
      as,
      to,
      ends: 'fail',
      why: 'input_limit',
    }),
  ),
);

/** The lengths in `iloc` are those of the file's items (ISO 14496-12, 8.11.3). */
const MISPLACED: readonly Case[] = (
  [
    ['is endless', changed(24, [0x7f, 0xff, 0xff, 0xff])],
    ['lies beyond the end', changed(20, [0x7f, 0xff, 0xff, 0xff])],
    ['belongs to no item', changed(12, [0, 9])],
    ['is measured otherwise', changed(8, [0xff, 0xff])],
    ['has no box', changed(0, [0x78])],
    ['is stored in an unknown way', storedOddly],
  ] as const
).map(([what, change]) => ({
  name: `a HEIC whose picture ${what}`,
  file: async () => {
    const folder = await mkdtemp('/tmp/filemill-heic-');
    const heic = await readFile((await fixtures['heic']?.('misplaced', folder)) ?? '');
    await rm(folder, { recursive: true });
    return change(heic);
  },
  as: 'a.heic',
  to: 'png',
  ends: 'fail',
  why: 'corrupt_input',
}));

/** Some go on until they are stopped: how soon that is makes no difference to what is left behind. */
const hurried: Ground = { ...ground, seconds: 5 };
proveHarmless(hurried, {
  'hostile drawings': DRAWINGS,
  'pictures that exhaust': BOMBS,
});
proveHarmless(ground, {
  'pictures of many': CROWDED,
  'pictures that are not where they should be': MISPLACED,
  'pictures that are something else': SCRIPTS,
  'pictures that hardly begin': FRAGMENTS,
});
proveMutationsHarmless(
  ground,
  [
    mutation('png', 'jpg'),
    mutation('gif', 'webp'),
    mutation('tiff', 'png'),
    mutation('webp', 'png'),
    mutation('jpg', 'png'),
    mutation('psd', 'png'),
    mutation('xcf', 'png'),
    ...['jxr', 'lbm', 'rle', 'srf', 'icon', 'mrf', 'mgr', 'g3'].map((source) => mutation(source, 'png')),
  ],
  16,
);

/** @param at in `iloc`, from its name on */
function changed(at: number, bytes: readonly number[]) {
  return (heic: Buffer): Buffer => {
    heic.set(bytes, heic.indexOf('iloc') + at);
    return heic;
  };
}

/** From version 1 on, `iloc` says of each item how it is stored (ISO 14496-12, 8.11.3.3): there are three ways, and this is none of them. */
function storedOddly(heic: Buffer): Buffer {
  const iloc = heic.indexOf('iloc');
  const meta = heic.indexOf('meta');
  expect([heic[iloc + 4], heic.readUInt16BE(iloc + 10)]).toEqual([0, 1]);
  heic[iloc + 4] = 1;
  for (const box of [iloc, meta]) heic.writeUInt32BE(heic.readUInt32BE(box - 4) + 2, box - 4);
  return Buffer.concat([heic.subarray(0, iloc + 14), Buffer.from([0, 0x0f]), heic.subarray(iloc + 14)]);
}
