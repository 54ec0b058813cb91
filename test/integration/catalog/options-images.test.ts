/** What each option of a picture does to the picture, through HTTP, judged by its pixels and by what it says of itself. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompressSync } from 'node:zlib';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ARTIST, HEIGHT, photo, picture, pixmap, QUARTERS, saidTiff, TITLE, WIDTH } from '../../kit/fixtures/pictures/photos.ts';
import { unzip } from '../../kit/judges/documents/text.ts';
import type { Picture } from '../../kit/judges/pictures/pixels.ts';
import { colourAt, coloursOf, distance, shownBy } from '../../kit/judges/pictures/quarters.ts';
import { convert, convertTo, type Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';
type Fields = Readonly<Record<string, string>>;

let service: Pick<Service, 'url'>;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-options-'));
  service = await sharedService();
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});
const aFolder = () => mkdtemp(join(home, 'a-'));
const to = (file: string, target: string, fields: Fields = {}) => convertTo(service.url, home, file, target, fields);
const codes = (job: { warnings: readonly { code: string }[] }) => job.warnings.map(({ code }) => code);
const refusal = async (file: string, target: string, fields: Fields) => (await convert(service.url, file, target, fields)).error?.details;

/** The pixels of a result; where it is a page, those of the picture on it, which is stored there unchanged. */
async function pixelsOf(path: string, target: string): Promise<Picture> {
  if (target !== 'pdf') return shownBy(path, target);
  const folder = await aFolder();
  await run('pdfimages', ['-png', path, join(folder, 'on')]);
  return shownBy(join(folder, 'on-000.png'), 'png');
}
const sizeOf = ({ width, height }: Picture) => [width, height];
/** Which of the four colours each quarter shows. */
const quarters = (found: Picture) =>
  coloursOf(found).map((colour) => {
    const distances = QUARTERS.map((each) => distance(colour, each));
    return distances.indexOf(Math.min(...distances));
  });

/** One target for each way in which pictures are edited here: libvips, ImageMagick, the HEIF and JPEG XL encoders, pages. */
const EDITED = ['png', 'bmp', 'heic', 'jxl', 'pdf'] as const;

describe('img_quality', () => {
  /** Something in every block of it. */
  const plasma = async () => {
    const path = join(await aFolder(), 'plasma.png');
    await run(CONVERT, ['-size', '160x120', '-seed', '7', 'plasma:', '-attenuate', '0.4', '+noise', 'Gaussian', `png24:${path}`]);
    return path;
  };

  it.each(['jpg', 'webp', 'avif', 'heic', 'jxl', 'jp2', 'pdf'])(
    'decides on the size of a %s, and lies between its ends by default',
    async (target) => {
      const file = await plasma();
      const bytes: number[] = [];
      for (const fields of [{ img_quality: '0' }, {}, { img_quality: '100' }]) {
        const { path, job } = await to(file, target, fields as Fields);
        expect(codes(job)).not.toContain('option_ignored');
        expect(sizeOf(await pixelsOf(path, target))).toEqual([160, 120]);
        bytes.push((await stat(path)).size);
      }
      expect(bytes).toEqual([...new Set(bytes)].sort((a, b) => a - b));
      expect(bytes).toHaveLength(3);
    },
  );

  it('makes a JPEG of a JPEG XL, and a JPEG XL of a JPEG, smaller', async () => {
    const { path: jxl } = await to(await plasma(), 'jxl', { img_quality: '100' });
    const { path: jpg } = await to(jxl, 'jpg', { img_quality: '100' });
    for (const [file, target] of [
      [jxl, 'jpg'],
      [jpg, 'jxl'],
      [jpg, 'jpg'],
    ] as const) {
      const [low, high] = [await to(file, target, { img_quality: '5' }), await to(file, target, { img_quality: '95' })];
      expect((await stat(low.path)).size, `${file} to ${target}`).toBeLessThan((await stat(high.path)).size / 2);
    }
  });

  it.each(['png', 'gif', 'tiff', 'bmp'])('has no effect on a %s, and its client is told', async (target) => {
    const file = await plasma();
    const [plain, asked] = [await to(file, target), await to(file, target, { img_quality: '1' })];
    expect(asked.job.output?.sha256).toBe(plain.job.output?.sha256);
    expect([codes(plain.job).includes('option_ignored'), codes(asked.job).includes('option_ignored')]).toEqual([false, true]);
  });
});

describe('img_resize_w and img_resize_h', () => {
  it.each(EDITED)('keep the ratio where one is given, and are exact where both are: %s', async (target) => {
    const file = await picture(await aFolder(), 'four.png');
    for (const [fields, wanted] of [
      [{ img_resize_w: '48' }, [48, 32]],
      [{ img_resize_h: '128' }, [192, 128]],
      [{ img_resize_w: '64', img_resize_h: '64' }, [64, 64]],
      [{}, [96, 64]],
    ] as const) {
      const found = await pixelsOf((await to(file, target, fields as Fields)).path, target);
      expect([sizeOf(found), quarters(found)], JSON.stringify(fields)).toEqual([wanted, [0, 1, 2, 3]]);
    }
  });

  it('take their smallest and their largest side', async () => {
    const file = await picture(await aFolder(), 'four.png', ['-resize', '96x16!']);
    for (const side of [16, 7680])
      expect(sizeOf(await pixelsOf((await to(file, 'png', { img_resize_w: `${side}`, img_resize_h: '16' })).path, 'png'))).toEqual([
        side,
        16,
      ]);
  });

  it.each(['png', 'bmp', 'heic', 'jxl', 'pdf'])('whose other side would leave 1 to 16383 px are refused: %s', async (target) => {
    const [narrow, flat] = [await aFolder(), await aFolder()];
    const tall = await picture(narrow, 'tall.png', ['-resize', '20x100!']);
    const wide = await picture(flat, 'wide.png', ['-resize', '1000x10!']);
    expect(await refusal(tall, target, { img_resize_w: '7680' })).toMatchObject({ reason: 'input_limit', max: 16_383, received: 38_400 });
    const { error } = await convert(service.url, wide, target, { img_resize_w: '16' });
    expect(error?.details).toMatchObject({ reason: 'input_limit', min: 1, received: 0 });
    expect(error?.message).toMatch(/^The picture has 1000 [x×] 10 pixels; .* 0 pixels( high)?, and the minimum is 1\.$/);
    expect(sizeOf(await pixelsOf((await to(wide, target, { img_resize_w: '50' })).path, target))[0]).toBe(50);
  });

  it('of a drawing draw it at that size', async () => {
    const folder = await aFolder();
    const [file, flat] = [join(folder, 'drawn.svg'), join(folder, 'flat.svg')];
    await writeFile(file, drawing(96, 64));
    await writeFile(flat, drawing(10, 200));
    for (const target of ['png', 'jpg', 'bmp']) {
      const sizes = [];
      for (const fields of [{ img_resize_w: '192' }, { img_resize_h: '32' }, { img_resize_w: '50', img_resize_h: '50' }])
        sizes.push(sizeOf(await pixelsOf((await to(file, target, fields as Fields)).path, target)));
      expect(sizes, target).toEqual([
        [192, 128],
        [48, 32],
        [50, 50],
      ]);
    }
    expect(await refusal(flat, 'png', { img_resize_w: '1000' })).toMatchObject({ reason: 'input_limit', max: 16_383, received: 20_000 });
  });
});

/** Four colours, transparent in the lower right. */
const drawing = (width: number, height: number) => {
  const [a, b, c] = QUARTERS.map((colour) => `rgb(${colour})`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 2 2" preserveAspectRatio="none">
    <rect width="1" height="1" fill="${a}"/><rect x="1" width="1" height="1" fill="${b}"/><rect y="1" width="1" height="1" fill="${c}"/></svg>`;
};

describe('img_rotate', () => {
  const turns: Readonly<Record<string, readonly [size: readonly number[], quarters: readonly number[]]>> = {
    '90': [
      [64, 96],
      [2, 0, 3, 1],
    ],
    '180': [
      [96, 64],
      [3, 2, 1, 0],
    ],
    '270': [
      [64, 96],
      [1, 3, 0, 2],
    ],
    'flip-h': [
      [96, 64],
      [1, 0, 3, 2],
    ],
    'flip-v': [
      [96, 64],
      [2, 3, 0, 1],
    ],
  };
  for (const [turn, wanted] of Object.entries(turns))
    it(`${turn} turns or mirrors what the camera turned first`, async () => {
      const file = await photo(await aFolder(), 6);
      for (const target of [...EDITED, 'webp', 'tiff']) {
        const { path } = await to(file, target, { img_rotate: turn });
        const found = await pixelsOf(path, target);
        expect([sizeOf(found), quarters(found)], target).toEqual(wanted);
      }
    });

  it('turns every frame of an animation', async () => {
    const path = join(await aFolder(), 'moving.gif');
    const frame = await pixmap(await aFolder());
    await run(CONVERT, ['-delay', '20', frame, '(', frame, '-flop', ')', `gif:${path}`]);
    const { path: turned } = await to(path, 'webp', { img_rotate: '90', img_resize_w: '32' });
    expect(await sharp(turned).metadata()).toMatchObject({ pages: 2, width: 32, height: 48 });
    for (const [page, wanted] of [
      [0, [2, 0, 3, 1]],
      [1, [3, 1, 2, 0]],
    ] as const) {
      const pixels = await sharp(turned, { page }).ensureAlpha().raw().toBuffer();
      expect(quarters({ width: 32, height: 48, pixels })).toEqual(wanted);
    }
  });
});

describe('img_crop', () => {
  it.each(EDITED)('comes after orientation and rotation and before the size: %s', async (target) => {
    const file = await photo(await aFolder(), 6);
    const crop = { img_rotate: '90', img_crop_x: '32', img_crop_y: '48', img_crop_w: '32', img_crop_h: '48' };
    for (const [fields, size] of [
      [crop, [32, 48]],
      [{ ...crop, img_resize_w: '64' }, [64, 96]],
    ] as const) {
      const found = await pixelsOf((await to(file, target, fields)).path, target);
      expect([sizeOf(found), quarters(found)]).toEqual([size, [1, 1, 1, 1]]);
    }
  });

  it.each(EDITED)('begins at the upper left and reaches to the edge unless told otherwise: %s', async (target) => {
    const file = await picture(await aFolder(), 'four.png');
    for (const [fields, size, shown] of [
      [{ img_crop_x: '48' }, [48, 64], [1, 1, 3, 3]],
      [{ img_crop_y: '32' }, [96, 32], [2, 3, 2, 3]],
      [{ img_crop_w: '48', img_crop_h: '32' }, [48, 32], [0, 0, 0, 0]],
      [{ img_crop_x: '95', img_crop_w: '1', img_crop_y: '63', img_crop_h: '1' }, [1, 1], [3, 3, 3, 3]],
    ] as const) {
      const found = await pixelsOf((await to(file, target, fields as Fields)).path, target);
      expect([sizeOf(found), quarters(found)], JSON.stringify(fields)).toEqual([size, shown]);
    }
  });

  it.each(EDITED)('is refused where it leaves the picture, by however little: %s', async (target) => {
    const file = await picture(await aFolder(), 'four.png');
    for (const [fields, option, received, says] of [
      [{ img_crop_x: '1', img_crop_w: '96' }, 'img_crop_w', '96', 'The picture has 96 columns; the crop ends at column 97.'],
      [{ img_crop_h: '65' }, 'img_crop_h', '65', 'The picture has 64 rows; the crop ends at row 65.'],
      [{ img_crop_x: '96' }, 'img_crop_x', '96', 'The picture has 96 columns; the crop starts after column 96.'],
      [{ img_crop_y: '64', img_crop_h: '1' }, 'img_crop_y', '64', 'The picture has 64 rows; the crop starts after row 64.'],
      [{ img_crop_x: '1000000' }, 'img_crop_x', '1000000', 'The picture has 96 columns; the crop starts after column 1000000.'],
    ] as const) {
      const { status, error } = await convert(service.url, file, target, fields as Fields);
      expect([status, error?.code, error?.message], JSON.stringify(fields)).toEqual([400, 'INVALID_OPTION', says]);
      expect(error?.details).toMatchObject({ option, received, allowed: expect.stringContaining('px'), retryable: false });
    }
  });
});

describe('background', () => {
  it.each(['svg', 'webp', 'gif', 'jxl', 'ico', 'avif'])('lies under what is transparent in a %s', async (source) => {
    const folder = await aFolder();
    const svg = join(folder, 'drawn.svg');
    await writeFile(svg, drawing(96, 96));
    const file = source === 'svg' ? svg : (await to(svg, source)).path;
    for (const [fields, wanted] of [
      [{}, [255, 255, 255]],
      [{ background: '#3366cc' }, [51, 102, 204]],
    ] as const) {
      const { path, job } = await to(file, 'jpg', fields as Fields);
      const found = await shownBy(path, 'jpg');
      expect(distance(colourAt(found, 0.75, 0.75), wanted), `${colourAt(found, 0.75, 0.75)}`).toBeLessThan(12);
      expect(distance(colourAt(found, 0.25, 0.25), QUARTERS[0] ?? [0, 0, 0])).toBeLessThan(25);
      expect(codes(job)).not.toContain('option_ignored');
    }
  });

  it('has no effect where transparency stays', async () => {
    const file = await picture(await aFolder(), 'four.png');
    expect(codes((await to(file, 'webp', { background: '#123456' })).job)).toEqual(['option_ignored']);
  });
});

describe('strip_metadata', () => {
  /** With name, place, profile and caption. */
  const tagged = async () => {
    const path = join(await aFolder(), 'tagged.jpg');
    await sharp(await picture(await aFolder(), 'four.png'))
      .withIccProfile('p3')
      .withExif({ IFD0: { Artist: ARTIST }, IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100' } })
      .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></x:xmpmeta>')
      .jpeg({ quality: 95 })
      .toFile(path);
    return path;
  };
  const tellsOf = async (path: string) => {
    // libvips, which reads the others here, reads no EXIF of a TIFF.
    const said = path.endsWith('.tiff') ? (await run('tiffinfo', [path])).stdout : undefined;
    const { exif, icc, xmp } = await sharp(path).metadata();
    return {
      artist: (said ?? exif)?.includes(ARTIST) ?? false,
      place: said?.includes('LatitudeRef: N\n  Latitude: 51.0') ?? exif?.includes('N\0\0\0') ?? false,
      profile: icc !== undefined,
      xmp: xmp !== undefined,
    };
  };

  const captionOf = async (path: string) => {
    const read = await run('/usr/bin/convert-im6.q16', [path, '-format', '%[IPTC:2:120]', 'info:']);
    return read.stdout.trim();
  };

  /** JPEG XL packs what it is told: it is unpacked first. */
  const isNamedIn = async (path: string) => {
    const unpacked = path.endsWith('.jxl') ? join(await aFolder(), 'unpacked.jpg') : path;
    if (unpacked !== path) await run('djxl', [path, unpacked]);
    return (await readFile(unpacked)).includes(ARTIST);
  };

  it.each(['jpg', 'png', 'webp', 'avif', 'tiff'])(
    'takes names, places and profiles out of a %s, and they stay unless it is asked for',
    async (target) => {
      const file = await tagged();
      expect(await tellsOf(file)).toEqual({ artist: true, place: true, profile: true, xmp: true });
      for (const fields of [{}, { strip_metadata: 'false' }, { strip_metadata: '0' }])
        expect(await tellsOf((await to(file, target, fields as Fields)).path)).toEqual({
          artist: true,
          place: true,
          profile: true,
          xmp: true,
        });
      for (const yes of ['true', '1', 'on', 'TRUE'])
        expect(await tellsOf((await to(file, target, { strip_metadata: yes })).path)).toEqual({
          artist: false,
          place: false,
          profile: false,
          xmp: false,
        });
    },
  );

  it.each(['jpg', 'png', 'webp', 'avif', 'tiff'])(
    'takes them out of a TIFF on its way to %s, and they stay unless it is asked for',
    async (target) => {
      const file = await saidTiff(await aFolder());
      const { path } = await to(file, target);
      expect(await tellsOf(path)).toMatchObject({ artist: true, place: true });
      const upright = await sharp(path).metadata();
      expect([upright.width, upright.height, upright.orientation ?? 1]).toEqual([WIDTH, HEIGHT, 1]);
      if (target === 'jpg' || target === 'tiff') expect(await captionOf(path)).toBe(TITLE);
      const stripped = (await to(file, target, { strip_metadata: 'true' })).path;
      expect(await tellsOf(stripped)).toMatchObject({ artist: false, place: false });
      expect((await readFile(stripped)).includes(TITLE)).toBe(false);
    },
  );

  it('takes them out of a PNG and a HEIC on their way to JPEG XL, and they stay unless it is asked for', async () => {
    const [folder, photo] = [await aFolder(), await tagged()];
    const [png, heic] = [join(folder, 'tagged.png'), join(folder, 'tagged.heic')];
    await sharp(photo).keepMetadata().png().toFile(png);
    await run('heif-enc', ['-o', heic, photo]);
    for (const file of [png, heic]) {
      const { path } = await to(file, 'jxl');
      const boxes = (await run('jxlinfo', ['-v', path])).stdout.match(/type: "(?:jxlc|Exif)"/g);
      expect([boxes, (await readFile(path)).includes(ARTIST)]).toEqual([['type: "jxlc"', 'type: "Exif"'], true]);
      // What follows the picture keeps no decoder from it.
      expect(quarters(await shownBy(path, 'jxl'))).toEqual([0, 1, 2, 3]);
      expect((await readFile((await to(file, 'jxl', { strip_metadata: 'true' })).path)).includes(ARTIST)).toBe(false);
    }
  });

  it.each([
    ['as they are', (bytes: Buffer) => bytes],
    ['compressed', withPackedExif],
  ])('carries those that a JPEG XL contains %s to PNG and JPEG, unless they are to be left out', async (_, packed) => {
    const folder = await aFolder();
    const file = join(folder, 'tagged.jxl');
    const png = join(folder, 'tagged.png');
    await sharp(await tagged())
      .keepMetadata()
      .png()
      .toFile(png);
    const plain = await readFile((await to(png, 'jxl')).path);
    await writeFile(file, packed(plain));
    expect([plain, packed(plain)].map((bytes) => bytes.includes(ARTIST))).toEqual([true, packed !== withPackedExif]);
    for (const target of ['png', 'jpg']) {
      const { path } = await to(file, target);
      expect(await tellsOf(path), target).toMatchObject({ artist: true, place: true });
      // Turned by the decoder, so that nothing may say that it is still to be turned.
      expect((await sharp(path).metadata()).orientation ?? 1).toBe(1);
      expect(quarters(await shownBy(path, target))).toEqual([0, 1, 2, 3]);
      expect((await readFile((await to(file, target, { strip_metadata: 'true' })).path)).includes(ARTIST)).toBe(false);
    }
  });

  it('leaves captions of IPTC where they are from JPEG to JPEG and TIFF', async () => {
    const file = (await to(await saidTiff(await aFolder()), 'jpg')).path;
    for (const target of ['jpg', 'tiff']) expect(await captionOf((await to(file, target)).path), target).toBe(TITLE);
  });

  it.each(['heic', 'jxl', 'jp2', 'tga', 'psd', 'pdf'])('leaves nothing of them in the bytes of a %s', async (target) => {
    const { path, job } = await to(await tagged(), target, { strip_metadata: 'true' });
    expect(await isNamedIn(path)).toBe(false);
    expect(codes(job)).not.toContain('option_ignored');
    // The same colours by other numbers: what read them by the profile put it away afterwards.
    expect(quarters(await pixelsOf(path, target === 'psd' ? 'psd' : target))).toEqual([0, 1, 2, 3]);
  });

  it.each(['heic', 'jxl'])('is not what becomes of them in a %s without it', async (target) => {
    const { path } = await to(await tagged(), target);
    expect(await isNamedIn(path)).toBe(true);
  });

  it('takes comments out of a PNG', async () => {
    const file = await picture(await aFolder(), 'noted.png', ['-set', 'comment', ARTIST]);
    expect((await readFile(file)).includes(ARTIST)).toBe(true);
    for (const target of ['png', 'gif', 'jp2', 'jpg', 'webp'])
      expect((await readFile((await to(file, target, { strip_metadata: 'true' })).path)).includes(ARTIST), target).toBe(false);
  });
});

describe('more than 8 bits a colour', () => {
  /** Shades that are one where 8 bits are left of 16. */
  const wedge = async (...more: readonly string[]) => {
    const path = join(await aFolder(), 'wedge.png');
    await run('/usr/bin/convert-im6.q16', ['-size', '64x256', '-depth', '16', 'gradient:rgb(40%,40%,40%)-rgb(45%,45%,45%)', ...more, path]);
    return path;
  };
  const shadesOf = async (path: string) => {
    const decoded = join(await aFolder(), 'decoded.png');
    await run('heif-convert', [path, decoded]);
    return Number((await run('/usr/bin/convert-im6.q16', [decoded, '-alpha', 'off', '-format', '%k', 'info:'])).stdout);
  };

  it.each(['heic', 'avif'])('are ten in %s, also beside transparency, and eight stay eight', async (target) => {
    const best = { img_quality: '100' };
    expect(await shadesOf((await to(await wedge(), target, best)).path)).toBeGreaterThan(40);
    const clear = await wedge('-alpha', 'set', '-channel', 'A', '-evaluate', 'multiply', '0.5', '+channel');
    expect(await shadesOf((await to(clear, target, best)).path)).toBeGreaterThan(40);
    const flat = await wedge('-depth', '8');
    expect(await shadesOf((await to(flat, target, best)).path)).toBeLessThan(20);
  });

  it.each([
    ['avif', 'avif'],
    ['avif', 'heic'],
    ['heic', 'heic'],
    ['heic', 'avif'],
  ])('stay ten from %s to %s, also where it is edited', async (source, target) => {
    const best = { img_quality: '100' };
    const file = (await to(await wedge(), source, best)).path;
    const { path } = await to(file, target, { ...best, img_rotate: '90' });
    expect(await shadesOf(path)).toBeGreaterThan(40);
    expect((await pixelsOf(path, target)).width).toBe(256);
    // By libvips, and what it makes is encoded by another.
    expect(await shadesOf((await to(file, target, { ...best, grayscale: 'true' })).path)).toBeGreaterThan(40);
    const flat = (await to(await wedge('-depth', '8'), source, best)).path;
    expect(await shadesOf((await to(flat, target, { ...best, img_rotate: '90' })).path)).toBeLessThan(20);
  });

  it('are eight where the AVIF would be too large, and its client is told', async () => {
    const { path, job } = await to(await wedge(), 'avif', { img_quality: '100', img_resize_w: '7000', img_resize_h: '6000' });
    expect(codes(job)).toEqual(['lossy']);
    expect((await pixelsOf(path, 'avif')).width).toBe(7000);
  });

  it('are ten in an AVIF of a TIFF, also turned', async () => {
    const file = join(await aFolder(), 'wedge.tiff');
    await run('/usr/bin/convert-im6.q16', [await wedge(), '-compress', 'none', file]);
    const { path } = await to(file, 'avif', { img_quality: '100', img_rotate: '90' });
    expect(await shadesOf(path)).toBeGreaterThan(40);
    expect((await pixelsOf(path, 'avif')).width).toBe(256);
  });
});

it('a PNG that is longer than ImageMagick may read becomes an AVIF, unless no AVIF is as long', async () => {
  const long = async (width: number) => {
    const path = join(await aFolder(), 'long.png');
    await sharp({ create: { width, height: 20, channels: 3, background: '#3c3' } })
      .png()
      .toFile(path);
    return path;
  };
  expect((await pixelsOf((await to(await long(16_200), 'avif')).path, 'avif')).width).toBe(16_200);
  expect(await refusal(await long(17_000), 'avif', {})).toMatchObject({ reason: 'input_limit', limit: 'side of avif', max: 16_384 });
});

describe('dpi', () => {
  it('draws a drawing at that resolution, at 150 unless asked otherwise', async () => {
    const file = join(await aFolder(), 'inch.svg');
    await writeFile(file, drawing(96, 48));
    for (const target of ['png', 'jpg', 'webp', 'bmp'])
      for (const [fields, wanted] of [
        [{}, [150, 75]],
        [{ dpi: '36' }, [36, 18]],
        [{ dpi: '600' }, [600, 300]],
      ] as const)
        expect(sizeOf(await pixelsOf((await to(file, target, fields as Fields)).path, target)), target).toEqual(wanted);
  });

  it('has no effect on a picture, and its client is told', async () => {
    const { path, job } = await to(await picture(await aFolder(), 'four.png'), 'jpg', { dpi: '300' });
    expect(codes(job)).toEqual(['option_ignored']);
    expect(sizeOf(await pixelsOf(path, 'jpg'))).toEqual([96, 64]);
  });
});

describe('pages of a TIFF', () => {
  /** Sides 96, 48, 24 px. */
  const three = async () => {
    const [page, path] = [await pixmap(await aFolder()), join(await aFolder(), 'scan.tiff')];
    await run(CONVERT, [page, '(', page, '-resize', '50%', ')', '(', page, '-resize', '25%', ')', `tiff:${path}`]);
    return path;
  };
  const widths = async (path: string, target: string) => {
    const found: number[] = [];
    for (const [name, bytes] of await unzip(await readFile(path))) {
      const part = join(await aFolder(), name);
      await writeFile(part, bytes);
      found.push((await shownBy(part, target)).width);
    }
    return found;
  };

  it.each(['png', 'bmp', 'jp2', 'heic'])('come as a ZIP of %s in the order asked for', async (target) => {
    const { path, job } = await to(await three(), target, { pages: '3,1-2' });
    expect(job.output).toMatchObject({ filename: 'scan-filemill.zip', files: 3 });
    expect(await widths(path, target)).toEqual([24, 96, 48]);
    expect([...(await unzip(await readFile(path))).keys()]).toEqual([3, 1, 2].map((page) => `scan-00${page}.${target}`));
  });

  it.each(['png', 'bmp', 'heic', 'pdf'])('that are not there are left out, and refused where none is left: %s', async (target) => {
    const file = await three();
    const { job } = await to(file, target, { pages: '3-9' });
    expect(job.output?.files).toBe(1);
    expect(codes(job)).toEqual(['pages_beyond_end']);
    const { status, error } = await convert(service.url, file, target, { pages: '4' });
    expect([status, error?.code]).toEqual([400, 'INVALID_OPTION']);
    expect(error?.details).toMatchObject({ option: 'pages', received: '4', allowed: 'pages from 1 to 3' });
    expect(error?.message).toBe('The file has 3 pages; the first requested page is 4.');
    expect(codes((await to(file, target, { pages: 'all' })).job)).toEqual(target === 'pdf' ? [] : ['zip_of_pages']);
  });

  it('stay pages of one PDF', async () => {
    const { path } = await to(await three(), 'pdf', { pages: '3,1' });
    const { stdout } = await run('pdfimages', ['-list', path]);
    expect([...stdout.matchAll(/^ +(\d+) +\d+ +image +(\d+)/gm)].map(([, page, width]) => [page, width])).toEqual([
      ['1', '24'],
      ['2', '96'],
    ]);
  });
});

/** Its box of EXIF compressed by Brotli, as newer programs write it (ISO/IEC 18181-2, 9.8). */
function withPackedExif(jxl: Buffer): Buffer {
  const at = jxl.indexOf('Exif') - 4;
  const end = at + jxl.readUInt32BE(at);
  const content = Buffer.concat([Buffer.from('brobExif'), brotliCompressSync(jxl.subarray(at + 8, end))]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(4 + content.length);
  return Buffer.concat([jxl.subarray(0, at), length, content, jxl.subarray(end)]);
}
