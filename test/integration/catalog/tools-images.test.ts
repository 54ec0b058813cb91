/** What each picture tool does to a picture, over HTTP, judged by pixels that other programs decode. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { POSITIONS } from '../../../src/catalog/options/edits.ts';
import { PICTURES } from '../../../src/catalog/tool-families/picture.ts';
import { callTool, outputOf, type Sent } from '../../kit/api/tools.ts';
import { fixtures } from '../../kit/fixtures/pictures/images.ts';
import { picture, pixmap, QUARTERS } from '../../kit/fixtures/pictures/photos.ts';
import type { Picture } from '../../kit/judges/pictures/pixels.ts';
import { coloursOf, distance, shownBy } from '../../kit/judges/pictures/quarters.ts';
import type { Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';
type Fields = Readonly<Record<string, string>>;

let service: Pick<Service, 'url'>;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-picture-tools-'));
  service = await sharedService();
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

const aFolder = () => mkdtemp(join(home, 'a-'));
const call = (slug: string, file: Sent | readonly Sent[], fields: Fields = {}) => callTool(service, slug, file, fields);
/** The result, in a separate folder. @throws when the job fails */
async function use(slug: string, file: string, fields: Fields = {}) {
  const answer = await call(slug, file, fields);
  const bytes = await outputOf(service, answer);
  const job = answer.data;
  if (job?.output === undefined) throw new Error('no output');
  const path = join(await aFolder(), job.output.filename);
  await writeFile(path, bytes);
  return { path, job };
}
const extensionOf = (path: string): string => path.replace(/^.*\./, '');
const shown = (path: string) => shownBy(path, extensionOf(path));
const bytesOf = async (path: string) => (await stat(path)).size;
const codes = (job: { warnings: readonly { code: string }[] }) => job.warnings.map(({ code }) => code);

/** Made by ImageMagick. @param args before the output */
async function made(name: string, ...args: readonly string[]): Promise<string> {
  const path = join(await aFolder(), name);
  await run(CONVERT, [...args, path]);
  return path;
}
const plain = (name: string, colour = '#405060', size = '300x180') => made(name, '-size', size, `xc:${colour}`, '-type', 'TrueColor');
/** Something in every block of it, as in a photo. */
const plasma = (name: string, ...args: readonly string[]) =>
  made(name, '-size', '240x160', '-seed', '7', 'plasma:', '-blur', '0x1', '-attenuate', '0.1', '+noise', 'Gaussian', ...args);
/** Four frames of a square that wanders over a plasma, each with a separate delay, five times. */
const moving = (name: string) => {
  const frames = Array.from({ length: 4 }, (_, at) => [
    '(',
    ...[
      '-delay',
      `${10 + at}`,
      '-size',
      '120x80',
      '-seed',
      '3',
      'plasma:',
      '-fill',
      'red',
      '-draw',
      `rectangle ${at * 10},20 ${at * 10 + 15},60`,
    ],
    ')',
  ]);
  return made(name, ...frames.flat(), '-loop', '5', ...(name.endsWith('webp') ? ['-quality', '95'] : []));
};

/** Frames, delays in ms and loops, as exiftool's and ImageMagick's readers find them. */
async function motionOf(path: string): Promise<{ frames: number; delays: number[]; loops: number }> {
  const { stdout } = await run(CONVERT, [path, '-format', '%T ', 'info:']);
  const delays = stdout
    .trim()
    .split(' ')
    .map((hundredths) => Number(hundredths) * 10);
  const bytes = await readFile(path);
  const netscape = bytes.indexOf('NETSCAPE2.0');
  const anim = bytes.indexOf('ANIM');
  // GIF89a's application extension counts repetitions; ANIM (RFC 9649, 2.7.1.1) counts the times shown.
  const loops = path.endsWith('gif') ? bytes.readUInt16LE(netscape + 13) : bytes.readUInt16LE(anim + 12);
  return { frames: delays.length, delays, loops };
}

/** Each frame whole, as ImageMagick lays them on each other. */
async function framesOf(path: string): Promise<Picture[]> {
  const folder = await aFolder();
  await run(CONVERT, [path, '-coalesce', '-scene', '100', join(folder, '%d.png')]);
  return Promise.all((await readdir(folder)).sort().map((name) => shown(join(folder, name))));
}

/** How many pixels differ, by ninth, in reading order. */
function changedByNinth(before: Picture, after: Picture): number[] {
  const counts = Array<number>(9).fill(0);
  const { width, height } = before;
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4;
      const ninth = Math.floor((y * 3) / height) * 3 + Math.floor((x * 3) / width);
      const differs = [0, 1, 2].some((band) => Math.abs((before.pixels[at + band] ?? 0) - (after.pixels[at + band] ?? 0)) > 8);
      if (differs) counts[ninth] = (counts[ninth] ?? 0) + 1;
    }
  return counts;
}
const greatest = ({ pixels }: Picture, base: number): number =>
  pixels.reduce((most, value, at) => (at % 4 === 0 ? Math.max(most, value - base) : most), 0);

function isGrey({ pixels }: Picture, tolerance: number): boolean {
  for (let at = 0; at < pixels.length; at += 4) {
    const [red = 0, green = 0, blue = 0] = pixels.subarray(at, at + 3);
    if (Math.max(red, green, blue) - Math.min(red, green, blue) > tolerance) return false;
  }
  return true;
}

/** Structural similarity, 0 to 1, by FFmpeg. */
async function similarity(one: string, other: string): Promise<number> {
  const { stderr } = await run('/usr/bin/ffmpeg', [
    '-i',
    one,
    '-i',
    other,
    '-lavfi',
    '[0]format=yuv444p[a];[1]format=yuv444p[b];[a][b]ssim',
    '-f',
    'null',
    '-',
  ]);
  return Number(/All:([\d.]+)/.exec(stderr)?.[1]);
}

describe('resize-image', () => {
  it('keeps the ratio with one side, and is exact with both', async () => {
    const file = await picture(await aFolder(), 'photo.png');
    for (const [fields, size] of [
      [{ img_resize_w: '48' }, [48, 32]],
      [{ img_resize_h: '32' }, [48, 32]],
      [{ img_resize_w: '40', img_resize_h: '40' }, [40, 40]],
    ] as const) {
      const { path } = await use('resize-image', file, fields);
      const { width, height } = await shown(path);
      expect([width, height]).toEqual(size);
    }
  });

  it('makes a PNG of an icon, whose sizes are not free', async () => {
    const { path } = await use('resize-image', await made('icon.ico', '-size', '64x64', 'xc:red'), { img_resize_w: '100' });
    expect(path).toMatch(/\.png$/);
    expect((await shown(path)).width).toBe(100);
  });
});

describe('crop-image', () => {
  it('cuts what is named, from the corner unless said otherwise', async () => {
    const file = await picture(await aFolder(), 'photo.png');
    const first = await shown((await use('crop-image', file, { img_crop_w: '48', img_crop_h: '32' })).path);
    expect([first.width, first.height]).toEqual([48, 32]);
    for (const colour of coloursOf(first)) expect(distance(colour, QUARTERS[0] ?? [0, 0, 0])).toBeLessThan(3);
    const fields = { img_crop_x: '48', img_crop_y: '32', img_crop_w: '48', img_crop_h: '32' };
    for (const colour of coloursOf(await shown((await use('crop-image', file, fields)).path)))
      expect(distance(colour, QUARTERS[3] ?? [0, 0, 0])).toBeLessThan(3);
  });

  it.each(['png', 'jxl', 'tga'])('tells how far outside a %s the rectangle reaches', async (format) => {
    const file = await fixtures[format]?.('kestrel', await aFolder());
    const { status, error } = await call('crop-image', file ?? '', { img_crop_w: '100000', img_crop_h: '2' });
    expect([status, error?.code]).toEqual([400, 'INVALID_OPTION']);
    expect(error?.details).toMatchObject({ option: 'img_crop_w', received: '100000' });
    expect(error?.message).toMatch(/^The picture has \d+ columns; the crop ends at column 100000\.$/);
  });
});

describe('rotate-image', () => {
  it.each([
    ['90', [2, 0, 3, 1]],
    ['180', [3, 2, 1, 0]],
    ['270', [1, 3, 0, 2]],
    ['flip-h', [1, 0, 3, 2]],
    ['flip-v', [2, 3, 0, 1]],
  ] as const)('%s', async (img_rotate, places) => {
    const file = await picture(await aFolder(), 'photo.png');
    const found = await shown((await use('rotate-image', file, { img_rotate })).path);
    for (const [at, colour] of coloursOf(found).entries()) expect(distance(colour, QUARTERS[places[at] ?? 0] ?? [0, 0, 0])).toBeLessThan(3);
  });
});

describe.concurrent('every kind of picture', () => {
  /** What comes out as PNG. ImageMagick 6 writes a cursor as an icon. */
  const asPng = new Set(['xcf', 'apng', 'pict', 'pbm', 'xbm']);

  it.each([...PICTURES])('a %s turns grey and keeps its format where it can', async (format) => {
    const build = fixtures[format];
    if (build === undefined) throw new Error(`no fixture builds a ${format}`);
    const { path, job } = await use('grayscale-image', await build('kestrel', await aFolder()));
    expect(extensionOf(path)).toBe(asPng.has(format) ? 'png' : format === 'cur' ? 'ico' : format);
    expect(codes(job)).not.toContain('option_ignored');
    const found = await shown(path);
    expect(isGrey(found, ['webp', 'avif', 'heic', 'jxl', 'jp2', 'dds'].includes(format) ? 6 : 1)).toBe(true);
    expect(new Set(found.pixels.filter((_, at) => at % 4 === 0)).size).toBeGreaterThan(1);
  });

  it.each(['tiff', 'heic', 'jxl'])('a %s takes blur, watermark and the size of a link preview', async (format) => {
    const file = (await fixtures[format]?.('kestrel', await aFolder())) ?? '';
    const before = await shown(file);
    for (const [slug, fields] of [
      ['blur-image', { radius: '8' }],
      ['watermark-image', { text: 'Kestrel', size: '20', color: '#ff00ff', opacity: '100' }],
    ] as const) {
      const { path } = await use(slug, file, fields);
      expect(extensionOf(path)).toBe(format);
      const after = await shown(path);
      expect([after.width, after.height]).toEqual([before.width, before.height]);
      expect(changedByNinth(before, after)[8]).toBeGreaterThan(50);
    }
    const { path } = await use('og-image-resizer', file);
    const { width, height } = await shown(path);
    expect([extensionOf(path), width, height]).toEqual([format, 1200, 630]);
  });

  it('a TIFF of three pages stays one of three pages', async () => {
    const file = await made('scan.tiff', '-size', '90x60', 'xc:red', 'xc:lime', 'xc:blue');
    for (const [slug, fields] of [
      ['grayscale-image', {}],
      ['watermark-image', { text: 'copy' }],
    ] as const) {
      const { path } = await use(slug, file, fields);
      const { stdout } = await run(CONVERT, [path, '-format', '%w %h %[fx:u.p{1,1}.r==u.p{1,1}.g]\n', 'info:']);
      expect(stdout.trim().split('\n')).toHaveLength(3);
    }
  });
});

describe('grayscale-image', () => {
  it('keeps transparency and the light of each colour', async () => {
    const file = await made('half.png', '-size', '60x40', 'xc:#00ff0080');
    const { pixels } = await shown((await use('grayscale-image', file)).path);
    expect(pixels[3]).toBe(128);
    const dark = await shown((await use('grayscale-image', await plain('blue.jpg', '#0000ff'))).path);
    expect((pixels[0] ?? 0) - (dark.pixels[0] ?? 0)).toBeGreaterThan(80);
  });
});

describe('blur-image', () => {
  /** Black on the left, white on the right: across the edge, the values of the row in the middle. */
  const edge = () =>
    made('edge.png', '-size', '100x40', 'xc:black', '(', '-size', '100x40', 'xc:white', ')', '+append', '-type', 'TrueColor');
  const row = ({ width, pixels }: Picture) => Array.from({ length: width }, (_, x) => pixels[(20 * width + x) * 4] ?? 0);
  /** From a sixth to five sixths of the way: two standard deviations, near enough. */
  const width = (values: readonly number[]) => values.filter((value) => value > 40 && value < 215).length;

  it('softens an edge by two deviations, 5 px unless said otherwise', async () => {
    const file = await edge();
    const widths: number[] = [];
    for (const fields of [{ radius: '0.3' }, {}, { radius: '5' }, { radius: '20' }] as const) {
      const { path, job } = await use('blur-image', file, fields as Fields);
      expect(codes(job)).toEqual([]);
      const values = row(await shown(path));
      widths.push(width(values));
      expect(values.every((value, x) => x === 0 || value >= (values[x - 1] ?? 0))).toBe(true);
    }
    expect(widths[0]).toBeLessThan(3);
    expect(widths[1]).toBe(widths[2]);
    expect(widths[2]).toBeGreaterThan(7);
    expect(widths[2]).toBeLessThan(13);
    expect(widths[3]).toBeGreaterThan(30);
    expect(widths[3]).toBeLessThan(50);
  });

  it('blurs each frame of an animation by itself', async () => {
    const file = await made('two.gif', '-delay', '20', '-size', '60x60', 'xc:black', 'xc:white', '-loop', '0');
    const frames = await framesOf((await use('blur-image', file, { radius: '10' })).path);
    expect(frames.map((frame) => greatest(frame, 0))).toEqual([0, 255]);
    expect(Math.min(...(frames[1]?.pixels ?? []))).toBeGreaterThan(250);
  });
});

describe.concurrent('watermark-image', () => {
  it.each(POSITIONS.map((position, ninth) => ({ position, ninth })))(
    'writes in the ninth $position and nowhere else',
    async ({ position, ninth }) => {
      const file = await plain('plain.png');
      const counts = changedByNinth(
        await shown(file),
        await shown((await use('watermark-image', file, { text: 'abc', position, opacity: '100' })).path),
      );
      expect(counts[ninth]).toBeGreaterThan(10);
      expect(counts.filter((_, at) => at !== ninth)).toEqual(Array(8).fill(0));
    },
  );

  it('is white, half seen, at the lower right, unless said otherwise', async () => {
    const file = await plain('plain.png', '#000000');
    const before = await shown(file);
    const after = await shown((await use('watermark-image', file, { text: 'HHH' })).path);
    const counts = changedByNinth(before, after);
    expect(counts.slice(0, 8)).toEqual(Array(8).fill(0));
    expect(greatest(after, 0)).toBeGreaterThan(110);
    expect(greatest(after, 0)).toBeLessThan(140);
    expect(isGrey(after, 1)).toBe(true);
  });

  it('takes opacity, size and colour', async () => {
    const file = await plain('plain.png', '#000000');
    const before = await shown(file);
    const look = async (fields: Fields) => shown((await use('watermark-image', file, { text: 'HHH', ...fields })).path);
    expect(changedByNinth(before, await look({ opacity: '0' }))).toEqual(Array(9).fill(0));
    expect(greatest(await look({ opacity: '100', size: '20' }), 0)).toBeGreaterThan(240);
    const area = (after: Picture) => changedByNinth(before, after).reduce((sum, count) => sum + count, 0);
    expect(area(await look({ size: '20' }))).toBeGreaterThan(4 * area(await look({ size: '5' })));
    const red = await look({ color: '#FF0000', size: '30', opacity: '100' });
    const at = red.pixels.findIndex((value, index) => index % 4 === 0 && value > 250);
    expect([...red.pixels.subarray(at, at + 3)]).toEqual([255, 0, 0]);
  });

  it.each(['日本語', 'مرحبا', 'Ελληνικά', 'हिन्दी', '한국어', 'ไทย'])('writes %s', async (text) => {
    const file = await plain('plain.png', '#000000');
    const counts = changedByNinth(await shown(file), await shown((await use('watermark-image', file, { text, size: '15' })).path));
    expect(counts[8]).toBeGreaterThan(40);
  });

  it('writes markup, escapes and names of files as they stand', async () => {
    const file = await plain('plain.png', '#000000', '600x300');
    const look = async (text: string) =>
      (await shown((await use('watermark-image', file, { text, size: '8', position: 'center' })).path)).pixels;
    const bold = await look('<b>a</b>');
    for (const other of ['a', 'b a b']) expect((await look(other)).equals(bold)).toBe(false);
    expect((await look('&amp;')).equals(await look('&'))).toBe(false);
    expect((await look('@/etc/passwd')).equals(await look('/etc/passwd'))).toBe(false);
    expect((await look('%w\\n')).equals(await look('600\n'))).toBe(false);
    await look('<span foreground="red');
  });

  it('keeps the longest text inside the picture, in letters that fit', async () => {
    const file = await plain('plain.png', '#000000', '120x60');
    const { path } = await use('watermark-image', file, { text: 'W'.repeat(200), size: '50', opacity: '100' });
    const found = await shown(path);
    expect(greatest(found, 0)).toBeGreaterThan(40);
    const rim = Array.from({ length: 120 }, (_, x) => [found.pixels[x * 4] ?? 0, found.pixels[(59 * 120 + x) * 4] ?? 0]).flat();
    expect(Math.max(...rim)).toBe(0);
  });

  it('is coloured on a grey picture, and leaves a photo without transparency without', async () => {
    const grey = await made('grey.png', '-size', '200x120', 'xc:gray(20%)', '-colorspace', 'Gray');
    const coloured = await shown((await use('watermark-image', grey, { text: 'red', size: '30', color: '#ff0000', opacity: '100' })).path);
    expect(isGrey(coloured, 100)).toBe(false);
    const { path } = await use('watermark-image', await plain('plain.png'), { text: 'x' });
    expect((await run(CONVERT, [path, '-format', '%A', 'info:'])).stdout).toMatch(/False|Undefined/);
    const deep = await made('deep.png', '-size', '200x120', 'gradient:#400-#004', '-depth', '16');
    const after = await shown((await use('watermark-image', deep, { text: 'x' })).path);
    expect(changedByNinth(await shown(deep), after).slice(0, 8)).toEqual(Array(8).fill(0));
  });
});

describe('og-image-resizer', () => {
  it('fills 1200 × 630 by cutting, or shows all of it between bars', async () => {
    const file = await made('tall.png', '-size', '200x400', 'gradient:#ff0000-#0000ff', '-type', 'TrueColor');
    const cover = await shown((await use('og-image-resizer', file)).path);
    const contain = await shown((await use('og-image-resizer', file, { fit: 'contain' })).path);
    for (const { width, height } of [cover, contain]) expect([width, height]).toEqual([1200, 630]);
    const at = ({ pixels }: Picture, x: number, y: number) => [...pixels.subarray((y * 1200 + x) * 4, (y * 1200 + x) * 4 + 3)];
    // It shows the middle 630 of 2400 px in height: neither end is seen.
    expect(at(cover, 5, 0)[2]).toBeGreaterThan(60);
    expect(at(contain, 5, 300)).toEqual([255, 255, 255]);
    expect(at(contain, 600, 2)[0]).toBeGreaterThan(240);
    expect(at(contain, 600, 627)[2]).toBeGreaterThan(240);
  });

  it('leaves the bars of a transparent picture transparent', async () => {
    const file = await made('half.png', '-size', '100x100', 'xc:#00ff0080');
    const { pixels } = await shown((await use('og-image-resizer', file, { fit: 'contain' })).path);
    expect(pixels[3]).toBe(0);
  });
});

describe.concurrent('animations', () => {
  it.each(
    ['gif', 'webp'].flatMap((format) =>
      (
        [
          ['resize-image', { img_resize_w: '60' }],
          ['crop-image', { img_crop_x: '20', img_crop_y: '10', img_crop_w: '80', img_crop_h: '60' }],
          ['rotate-image', { img_rotate: '90' }],
          ['grayscale-image', {}],
          ['blur-image', { radius: '2' }],
          ['watermark-image', { text: 'moving', size: '20' }],
          ['og-image-resizer', {}],
          ['og-image-resizer', { fit: 'contain' }],
          ['compress-image', { img_quality: '60' }],
          [`compress-${format}`, { img_quality: '30' }],
        ] as const
      ).map(([slug, fields]) => ({ format, slug, fields })),
    ),
  )('of $format keep frames, delays and loops through $slug $fields', async ({ format, slug, fields }) => {
    const file = await moving(`moving.${format}`);
    const { path, job } = await use(slug, file, fields as Fields);
    expect(extensionOf(path)).toBe(format);
    expect(codes(job)).not.toContain('animation_first_frame');
    expect(await motionOf(path)).toEqual(await motionOf(file));
    if (slug === 'grayscale-image' && format === 'gif') for (const frame of await framesOf(path)) expect(isGrey(frame, 1)).toBe(true);
  });

  it('carry the watermark on each frame, and are cut to the same place on each', async () => {
    const file = await made('still.gif', '-delay', '20', '-size', '150x90', 'xc:black', 'xc:gray(30%)', 'xc:gray(60%)', '-loop', '0');
    const frames = await framesOf((await use('watermark-image', file, { text: 'abc', size: '20', opacity: '100' })).path);
    const bases = await framesOf(file);
    expect(frames).toHaveLength(3);
    for (const [at, frame] of frames.entries()) {
      const counts = changedByNinth(bases[at] ?? frame, frame);
      expect(counts[8]).toBeGreaterThan(20);
      expect(counts.slice(0, 6)).toEqual(Array(6).fill(0));
    }
  });
});

describe('compression', () => {
  const FORMATS = { jpg: ['-quality', '97'], png: [], webp: ['-quality', '97'], gif: [] } as const;

  it.each(Object.entries(FORMATS))('makes a %s smaller by quality, alike at 80, which is the default', async (format, args) => {
    const file = await plasma(`plasma.${format}`, ...args);
    const sizes: number[] = [];
    for (const fields of [{ img_quality: '10' }, {}, { img_quality: '80' }] as const) {
      const { path } = await use(`compress-${format}`, file, fields as Fields);
      expect(extensionOf(path)).toBe(format);
      sizes.push(await bytesOf(path));
      if (fields !== undefined && !('img_quality' in fields))
        expect(await similarity(file, path)).toBeGreaterThan(format === 'png' || format === 'gif' ? 0.9 : 0.93);
    }
    expect(sizes[1]).toBe(sizes[2]);
    expect(sizes[0]).toBeLessThan(sizes[1] ?? 0);
    expect(sizes[1]).toBeLessThan(0.95 * (await bytesOf(file)));
    const { path } = await use('compress-image', file);
    expect(await bytesOf(path)).toBe(sizes[1]);
  });

  it('keeps every pixel of a PNG at 100, and at most 256 colours below', async () => {
    const file = await plasma('plasma.png', '-depth', '8', '-define', 'png:compression-level=1');
    const colours = async (path: string) => Number((await run(CONVERT, [path, '-format', '%k', 'info:'])).stdout);
    const best = (await use('compress-png', file, { img_quality: '100' })).path;
    expect((await shown(best)).pixels.equals((await shown(file)).pixels)).toBe(true);
    expect(await bytesOf(best)).toBeLessThan(await bytesOf(file));
    expect(await colours((await use('compress-png', file, { img_quality: '99' })).path)).toBeLessThanOrEqual(256);
    expect(await colours(file)).toBeGreaterThan(256);
  });

  it('takes quality for img_quality, as compress-pdf calls it', async () => {
    const file = await plasma('plasma.jpg', '-quality', '95');
    for (const slug of ['compress-jpg', 'compress-image']) {
      const [one, other] = [await use(slug, file, { img_quality: '20' }), await use(slug, file, { quality: '20' })];
      expect([(await readFile(other.path)).equals(await readFile(one.path)), codes(other.job)]).toEqual([true, codes(one.job)]);
      expect((await call(slug, file, { quality: '20', img_quality: '30' })).error?.details).toMatchObject({
        option: 'quality',
        received: '20',
      });
    }
  });

  it.each(Object.keys(FORMATS))('gives a %s back as it was that cannot be made smaller', async (format) => {
    const file =
      format === 'jpg'
        ? await plasma('small.jpg', '-quality', '5')
        : await made(`dot.${format}`, '-size', '2x2', 'xc:red', ...(format === 'png' ? ['-strip'] : []));
    const smallest = (await use(`compress-${format}`, file, { img_quality: '30' })).path;
    const { path, job } = await use(`compress-${format}`, smallest, { img_quality: '100' });
    expect(await bytesOf(path)).toBeLessThanOrEqual(await bytesOf(smallest));
    if (codes(job).includes('not_smaller')) expect((await readFile(path)).equals(await readFile(smallest))).toBe(true);
  });
});

describe.concurrent('fields', () => {
  /** Just inside, just outside, and what a refused client reads. */
  const BOUNDS: readonly (readonly [
    slug: string,
    field: string,
    others: Fields,
    inside: readonly string[],
    outside: readonly string[],
    allowed: RegExp,
  ])[] = [
    ['resize-image', 'img_resize_w', {}, ['16', '7680'], ['15', '7681', 'wide'], /16 to 7680 px/],
    ['crop-image', 'img_crop_w', {}, ['1', '96'], ['0', '1000001', ''], /1 to 1000000 px/],
    ['crop-image', 'img_crop_h', {}, ['1', '64'], ['0', '-1'], /1 to 1000000 px/],
    ['crop-image', 'img_crop_x', { img_crop_w: '1', img_crop_h: '1' }, ['0', '95'], ['-1', '1000001'], /0 to 1000000 px/],
    ['crop-image', 'img_crop_y', { img_crop_w: '1', img_crop_h: '1' }, ['0', '63'], ['-1', '1.5'], /0 to 1000000 px/],
    ['rotate-image', 'img_rotate', {}, ['flip-v', 'FLIP-H'], ['45', ''], /90, 180, 270, flip-h, flip-v/],
    ['blur-image', 'radius', {}, ['0.3', '100'], ['0.29', '100.1', '1e1'], /0\.3 to 100 px/],
    ['watermark-image', 'text', {}, ['a', '😀'.repeat(200)], ['', 'a'.repeat(201), '\u200b', 'a\u0007'], /1 to 200 characters/],
    ['watermark-image', 'position', { text: 'a' }, ['top', 'Center'], ['middle'], /top-left, top, .*bottom-right/],
    ['watermark-image', 'opacity', { text: 'a' }, ['0', '100'], ['-1', '101'], /0 to 100/],
    ['watermark-image', 'size', { text: 'a' }, ['1', '50'], ['0', '51'], /1 to 50 %/],
    ['watermark-image', 'color', { text: 'a' }, ['#abcdef'], ['red', '#abc'], /#rrggbb/],
    ['og-image-resizer', 'fit', {}, ['cover', 'contain'], ['fill'], /cover, contain/],
    ['compress-image', 'img_quality', {}, ['0', '100'], ['-1', '101'], /0 to 100/],
    ['compress-png', 'img_quality', {}, ['0', '100'], ['-1', '101'], /0 to 100/],
  ];

  it.each(BOUNDS)('%s takes %s within its bounds only', async (slug, field, others, inside, outside, allowed) => {
    const file = await picture(await aFolder(), 'photo.png');
    for (const value of inside) expect((await call(slug, file, { ...others, [field]: value })).status).toBe(200);
    for (const value of outside) {
      const { status, error } = await call(slug, file, { ...others, [field]: value });
      expect([value, status, error?.code]).toEqual([value, 400, 'INVALID_OPTION']);
      expect(error?.details).toMatchObject({ option: field, allowed: expect.stringMatching(allowed) });
      expect(error?.details['received']).toBe(value === '' ? null : value.trim().slice(0, 100));
    }
  });

  it('no conversion takes what only tools set', async () => {
    const form = new FormData();
    const file = await picture(await aFolder(), 'photo.png');
    for (const [name, value] of Object.entries({ to_format: 'png', grayscale: 'true', blur: '5' })) form.set(name, value);
    form.set('file', new Blob([new Uint8Array(await readFile(file))]), 'photo.png');
    const body = (await (await fetch(`${service.url}/api/v1/convert`, { method: 'POST', body: form })).json()) as {
      data: { job_id: string; warnings: { message: string }[] };
    };
    expect(body.data.warnings.map(({ message }) => message).join(' ')).toMatch(/grayscale[\s\S]*blur/);
    const output = await fetch(`${service.url}/api/v1/jobs/${body.data.job_id}/output`);
    const path = join(await aFolder(), 'same.png');
    await writeFile(path, Buffer.from(await output.arrayBuffer()));
    expect(isGrey(await shown(path), 20)).toBe(false);
  });
});

describe('files', () => {
  const NEEDED: Readonly<Record<string, Fields>> = {
    'resize-image': { img_resize_w: '50' },
    'crop-image': { img_crop_w: '240', img_crop_h: '160' },
    'rotate-image': { img_rotate: '90' },
    'watermark-image': { text: 'a' },
  };
  const SLUGS = ['resize', 'crop', 'rotate', 'grayscale', 'blur', 'watermark', 'compress'].map((name) => `${name}-image`);

  it.each([...SLUGS, 'og-image-resizer', 'compress-jpg', 'compress-png', 'compress-webp', 'compress-gif'])(
    '%s refuses what it does not take',
    async (slug) => {
      const fields = NEEDED[slug] ?? {};
      const text = { name: 'a.txt', bytes: Buffer.from('Not a picture at all.\n') };
      const wrong = await call(slug, text, fields);
      expect([wrong.status, wrong.error?.code]).toEqual([415, 'UNSUPPORTED_MIME']);
      expect(wrong.error?.details['accepted']).toContain(/-(jpg|png|webp|gif)$/.exec(slug)?.[1] ?? 'png');
      expect((await call(slug, [], fields)).error?.code).toBe('NO_FILE');
      const format = /-(jpg|png|webp|gif)$/.exec(slug)?.[1] ?? 'png';
      const whole = await plasma(`whole.${format}`);
      expect((await call(slug, [whole, whole], fields)).status).toBe(400);
      const bytes = await readFile(whole);
      // A JPEG shows what came of it, unless not even its header is whole.
      const length = format === 'jpg' ? 30 : Math.floor(bytes.length / 3);
      const damaged = { name: `cut.${format}`, bytes: bytes.subarray(0, length) };
      const { status, error } = await call(slug, damaged, fields);
      expect([status, error?.code, error?.details['reason']]).toEqual([500, 'CONVERSION_FAILED', 'corrupt_input']);
    },
  );

  it('a JPEG is no PNG to compress, whatever its name', async () => {
    const bytes = await readFile(await plain('a.jpg'));
    const { status, error } = await call('compress-png', { name: 'a.png', bytes });
    expect([status, error?.details['accepted']]).toEqual([415, ['png']]);
  });

  it('the pixmap of the kit is what the judges think it is', async () => {
    expect(isGrey(await shown(await pixmap(await aFolder())), 20)).toBe(false);
  });
});
