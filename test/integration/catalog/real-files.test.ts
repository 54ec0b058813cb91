/** Files as people really have them, through HTTP, judged by what is in the result. */
import { execFile } from 'node:child_process';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { createCatalog } from '../../../src/catalog/catalog.ts';
import { engines } from '../../../src/catalog/engines.gen.ts';
import {
  ARTIST,
  giantPng,
  HEIGHT,
  inCmyk,
  inWideGamut,
  jpegLs,
  namedHeic,
  phoneHeic,
  photo,
  photoPng,
  picture,
  pixmap,
  QUARTERS,
  renderedExr,
  TITLE,
  targa,
  textureDds,
  WIDTH,
} from '../../kit/fixtures/pictures/photos.ts';
import { cmykPsd } from '../../kit/fixtures/pictures/psd.ts';
import { measuredTiff } from '../../kit/fixtures/pictures/tiffs.ts';
import { gimp } from '../../kit/fixtures/pictures/xcf.ts';
import { unzip } from '../../kit/judges/documents/text.ts';
import { decode } from '../../kit/judges/pictures/pixels.ts';
import { coloursOf, distance, expectQuarters, shownBy } from '../../kit/judges/pictures/quarters.ts';
import { convert } from '../../kit/roles/service.ts';
import { conversionGround } from './ground.ts';

const run = promisify(execFile);
const ground = conversionGround('real');
const { aFolder, to } = ground;
const codes = (job: { warnings: readonly { code: string }[] }) => job.warnings.map(({ code }) => code);

describe('a photo that the camera stored turned or mirrored', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('of EXIF orientation %i is upright in every format', async (orientation) => {
    const file = await photo(await aFolder(), orientation);
    for (const target of ['png', 'bmp', 'jp2', 'avif', 'pdf', 'jxl', 'heic', 'webp', 'tga', 'jpg', 'qoi']) {
      if (orientation > 2 && orientation !== 6 && !['png', 'bmp', 'jp2'].includes(target)) continue;
      const { path } = await to(file, target);
      await expectQuarters(path, target, target === 'pdf' ? 40 : 25).catch((error: unknown) => {
        throw new Error(`${target}: ${error}`);
      });
      if (['png', 'jpg', 'webp', 'avif'].includes(target)) expect((await sharp(path).metadata()).orientation ?? 1, target).toBe(1);
    }
  });

  it.each([
    [2, false],
    [3, true],
    [5, true],
    [6, false],
    [6, true],
    [8, true],
  ])(
    'of EXIF orientation %i in a PNG is upright, too (behind the pixels: %s), and cropped as it is shown',
    async (orientation, isBehind) => {
      const file = await photoPng(await aFolder(), orientation, isBehind);
      const bytes = await readFile(file);
      expect(bytes.indexOf('eXIf') > bytes.indexOf('IDAT')).toBe(isBehind);
      for (const target of ['bmp', 'jpg', 'pdf', 'tiff', 'heic', 'jxl', 'jp2', 'qoi', 'avif']) {
        if (orientation !== 6 && !['bmp', 'jpg', 'pdf'].includes(target)) continue;
        const { path } = await to(file, target);
        await expectQuarters(path, target, target === 'pdf' ? 40 : 25).catch((error: unknown) => {
          throw new Error(`${target}: ${error}`);
        });
        if (['jpg', 'tiff', 'jxl', 'avif'].includes(target))
          expect([target, (await readFile(path)).includes(ARTIST)]).toEqual([target, true]);
      }
      for (const target of ['bmp', 'psd', 'avif', 'jpg']) {
        const [shown] = await decode((await to(file, target, { img_crop_w: `${WIDTH}`, img_crop_h: `${HEIGHT - 2}` })).path, target);
        expect([target, shown?.width, shown?.height]).toEqual([target, WIDTH, HEIGHT - 2]);
      }
    },
  );

  it('is not upright as it is stored: the judge is not blind', async () => {
    await expect(expectQuarters(await pixmap(await aFolder(), 6), 'ppm')).rejects.toThrow('not upright');
    await expect(expectQuarters(await pixmap(await aFolder(), 2), 'ppm')).rejects.toThrow('quarter');
  });

  it('by a phone as HEIC is turned once', async () => {
    const file = await phoneHeic(await aFolder());
    for (const target of ['jpg', 'png', 'webp', 'bmp']) {
      const { path } = await to(file, target);
      await expectQuarters(path, target, 30);
      if (target !== 'bmp') expect((await sharp(path).metadata()).orientation ?? 1, target).toBe(1);
    }
  });
});

describe('colours', () => {
  it.each(['png', 'tiff', 'jpg'])('of a wide-gamut %s stay right', async (source) => {
    const file = await inWideGamut(await aFolder(), `wide.${source}`);
    await expect(expectQuarters(file, source)).rejects.toThrow('quarter');
    // Rare formats are made of common ones alone.
    for (const target of ['png', 'jpg', 'bmp', 'webp', 'jp2', 'tga', 'pdf', ...(source === 'tiff' ? [] : ['qoi', 'jls', 'exr'])]) {
      if (target === source) continue;
      await expectQuarters((await to(file, target)).path, target, target === 'pdf' ? 40 : 25);
    }
  });

  it('of a wide-gamut HEIC stay right, as those of one whose profile is damaged', async () => {
    const folder = await aFolder();
    const file = join(folder, 'wide.heic');
    await run('/usr/bin/heif-enc', ['-q', '95', '-p', 'chroma=444', '-o', file, await inWideGamut(folder, 'wide.jpg')]);
    for (const target of ['jpg', 'bmp', 'tiff', 'webp', 'jp2', 'pdf', 'jxr'])
      await expectQuarters((await to(file, target)).path, target, target === 'pdf' ? 40 : 30);
    expect((await sharp((await to(file, 'png')).path).metadata()).icc, 'a PNG keeps the profile').toBeDefined();
    const plain = join(folder, 'plain.heic');
    await run('/usr/bin/heif-enc', [
      '-q',
      '95',
      '-p',
      'chroma=444',
      '-o',
      plain,
      await picture(folder, 'tagged.jpg', ['-profile', '/usr/share/color/icc/ghostscript/srgb.icc']),
    ]);
    const bytes = await readFile(plain);
    const mark = bytes.indexOf('acsp');
    // Not the signature of a profile, one of greys, and a length that is not its own.
    for (const [at, word] of [
      [mark, 'XXXX'],
      [mark - 20, 'GRAY'],
      [mark - 36, '\0\0\x02\0'],
    ] as const) {
      const odd = Buffer.from(bytes);
      odd.write(word, at, 'latin1');
      await writeFile(plain, odd);
      for (const target of ['jpg', 'png', 'webp', 'heic']) await expectQuarters((await to(plain, target)).path, target, 30);
    }
  });

  it.each(['png', 'jpg', 'webp', 'tiff', 'avif'])('and words of a HEIC are kept in %s, and removed on request', async (target) => {
    const folder = await aFolder();
    const file = join(folder, 'told.heic');
    await run('/usr/bin/heif-enc', ['-q', '95', '-p', 'chroma=444', '-o', file, await photo(folder, 1)]);
    const { path } = await to(file, target);
    await expectQuarters(path, target, 30);
    const { exif, xmp, orientation } = await sharp(path).metadata();
    expect((target === 'tiff' ? await readFile(path) : exif)?.includes(ARTIST)).toBe(true);
    // ImageMagick 6 writes XMP into a WebP without the flag that tells of it.
    if (target !== 'webp') expect(xmp?.includes(TITLE)).toBe(true);
    expect(orientation ?? 1).toBe(1);
    const silent = await readFile((await to(file, target, { strip_metadata: 'true' })).path);
    expect([silent.includes(ARTIST), silent.includes(TITLE)]).toEqual([false, false]);
  });

  it.each(['png', 'jpg', 'jp2', 'webp'])('and no words of a HEIC whose EXIF has a name are in %s with strip_metadata', async (target) => {
    const file = await namedHeic(await aFolder());
    const [told, silent] = await Promise.all(
      [{}, { strip_metadata: 'true' }].map(async (fields: Readonly<Record<string, string>>) =>
        readFile((await to(file, target, fields)).path),
      ),
    );
    expect([told?.includes('Ansel'), silent?.includes('Ansel')]).toEqual([target !== 'jp2', false]);
  });

  it.each(['png', 'jpg', 'webp'])('of a rendered EXR are right in %s where it is half transparent', async (target) => {
    for (const opacity of [1, 0.5]) {
      const found = await shownBy((await to(await renderedExr(await aFolder(), opacity), target)).path, target);
      const alpha = found.pixels[(16 * WIDTH + 24) * 4 + 3] ?? -1;
      expect(Math.abs(alpha - (target === 'jpg' ? 1 : opacity) * 255)).toBeLessThan(3);
      for (const [place, colour] of coloursOf(found).entries()) {
        const seen = place % 2 === 0 && target === 'jpg' ? opacity : 1;
        const wanted = (QUARTERS[place] ?? [0, 0, 0]).map((value) => value * seen + 255 * (1 - seen)) as [number, number, number];
        expect(distance(colour, wanted), `${target}, quarter ${place}, ${opacity}`).toBeLessThan(25);
      }
    }
  });

  it.each(['png', 'jpg', 'webp', 'ppm', 'bmp'])(
    'as floats in JPEG XL and TIFF are the same in %s, and white is the brightest',
    async (target) => {
      const folder = await aFolder();
      const tiff = await measuredTiff(folder, 32, 3, [0, 1, 2]);
      const jxl = join(folder, 'float.jxl');
      await run('/usr/bin/cjxl', [await picture(folder, 'float.pfm', ['-endian', 'LSB']), jxl, '-d', '0']);
      for (const file of [tiff, jxl]) await expectQuarters((await to(file, target)).path, target);
      const bright = join(folder, 'bright.jxl');
      const numbers = await readFile(join(folder, 'float.pfm'));
      // Twice as bright as white: the last row of the file is the upper one.
      const from = numbers.length - 96 * 12;
      for (let at = from; at < numbers.length; at += 4) numbers.writeFloatLE(2, at);
      await writeFile(join(folder, 'bright.pfm'), numbers);
      await run('/usr/bin/cjxl', [join(folder, 'bright.pfm'), bright, '-d', '0']);
      const { pixels } = await expectQuarters((await to(bright, target)).path, target);
      expect(Math.min(...pixels.subarray(0, 3))).toBeGreaterThan(200);
    },
  );

  it.each([true, false])('of a CMYK JPEG (profile: %s) become those of the screen', async (profile) => {
    const file = await inCmyk(await aFolder(), profile);
    for (const target of ['png', 'jpg', 'bmp', 'pdf', 'webp', 'qoi', 'jls', 'exr', 'jxl'])
      await expectQuarters((await to(file, target)).path, target, 48);
  });

  it.each(['png', 'jpg', 'bmp', 'webp'])('of a CMYK PSD with a profile are right in %s', async (target) => {
    await expectQuarters((await to(await cmykPsd(await aFolder()), target)).path, target, 30);
  });

  it('of a 16-bit PNG keep their depth where the target has it', async () => {
    const file = await picture(await aFolder(), 'deep.png', ['-depth', '16', '-define', 'png:bit-depth=16'], 'png48');
    for (const target of ['tiff', 'jpg', 'webp', 'bmp', 'jp2', 'avif', 'heic', 'jxl'])
      await expectQuarters((await to(file, target)).path, target);
    expect((await sharp((await to(file, 'tiff')).path).metadata()).depth).toBe('ushort');
    const grey = await picture(await aFolder(), 'grey.png', ['-colorspace', 'Gray', '-depth', '16', '-define', 'png:bit-depth=16'], 'png');
    const { stdout } = await run('/usr/bin/ffprobe', [
      ...['-v', 'error', '-f', 'jpegls_pipe', '-show_entries', 'stream=pix_fmt', '-of', 'csv=p=0'],
      (await to(grey, 'jls')).path,
    ]);
    expect(stdout.trim()).toBe('gray16le');
  });

  it.each(['png', 'jpg', 'webp', 'gif', 'avif', 'heic', 'jxl', 'bmp', 'pdf'])('of a palette PNG reach %s', async (target) => {
    const folder = await aFolder();
    const file = await picture(folder, 'palette.png', ['-type', 'Palette'], 'png8');
    const source = target === 'png' ? await picture(folder, 'palette.gif', [], 'gif') : file;
    await expectQuarters((await to(source, target)).path, target, target === 'pdf' ? 40 : 25);
  });
});

describe('transparency', () => {
  const half = (folder: string, kind: string) =>
    picture(
      folder,
      `half-${kind}.png`,
      [...(kind === 'grey' ? ['-colorspace', 'Gray'] : []), '-alpha', 'set', '-region', '48x64+0+0', '-alpha', 'transparent', '+region'],
      'png',
    );

  it.each(['colour', 'grey'])('of a %s PNG is kept where the target has it', async (kind) => {
    const file = await half(await aFolder(), kind);
    for (const target of ['webp', 'avif', 'gif', 'tiff', 'jp2', 'tga', 'heic', 'jxl', 'ico', 'qoi']) {
      const found = await shownBy((await to(file, target)).path, target);
      const opacity = (x: number) =>
        found.pixels[(Math.floor(found.height * 0.4) * found.width + Math.floor(found.width * x)) * 4 + 3] ?? -1;
      expect([opacity(0.25), opacity(0.75)], target).toEqual([0, 255]);
    }
  });

  it.each(['jp2', 'psd'])('of a PNG with few colours is the same in %s, read again', async (target) => {
    const folder = await aFolder();
    const half = ['-size', '96x64', 'xc:#d02030', '-alpha', 'set', '-channel', 'A', '-evaluate', 'set', '50%', '+channel', '-depth', '8'];
    const file = join(folder, 'few.png');
    await run('/usr/bin/convert-im6.q16', [...half, `png:${file}`]);
    const { path } = await to(file, target);
    const [found] = await decode((await to(path, 'png')).path, 'png');
    expect(Math.abs((found?.pixels[3] ?? 0) - 128)).toBeLessThan(3);
  });

  it('of the main picture alone is said where a HEIC has several', async () => {
    const folder = await aFolder();
    const pictures = await Promise.all(['a.png', 'b.png'].map((name) => picture(folder, name)));
    const file = join(folder, 'two.heic');
    await run('/usr/bin/heif-enc', ['-o', file, ...pictures]);
    for (const target of ['png', 'jpg', 'pdf']) expect(codes((await to(file, target)).job)).toEqual(['main_picture_only']);
  });

  it.each(['jpg', 'bmp', 'ppm', 'webp', 'tiff'])('of a HEIC is kept in %s, or laid on white', async (target) => {
    const folder = await aFolder();
    const file = join(folder, 'half.heic');
    const clear = ['-alpha', 'set', '-region', '48x64+0+0', '-alpha', 'transparent', '+region', '-depth', '8'];
    await run('/usr/bin/heif-enc', ['-q', '95', '-o', file, await picture(folder, 'half.png', clear, 'png32')]);
    const found = await shownBy((await to(file, target)).path, target);
    const [hidden = [0, 0, 0], seen = [0, 0, 0]] = coloursOf(found);
    const opacity = found.pixels[(16 * found.width + 24) * 4 + 3];
    if (target === 'webp' || target === 'tiff') expect(opacity).toBe(0);
    else expect(distance(hidden, [255, 255, 255])).toBeLessThan(20);
    expect(distance(seen, QUARTERS[1] ?? [0, 0, 0])).toBeLessThan(20);
  });

  it.each(['jpg', 'bmp', 'ppm', 'pdf', 'jls', 'exr'])('is laid on the background in %s', async (target) => {
    const file = await half(await aFolder(), 'colour');
    for (const [background, wanted] of [
      [undefined, [255, 255, 255]],
      ['#3366cc', [51, 102, 204]],
    ] as const) {
      const [found] = await decode((await to(file, target, background === undefined ? {} : { background })).path, target);
      const [first = [0, 0, 0]] = found === undefined ? [] : coloursOf(found);
      expect(distance(first, wanted), `${first}`).toBeLessThan(20);
    }
  });
});

describe('a picture as other programs write it', () => {
  it.each([
    { fromTop: false, fromRight: false },
    { fromTop: true, fromRight: false },
    { fromTop: false, fromRight: true },
    { fromTop: true, fromRight: true },
  ])('is upright from a TGA stored $fromTop, $fromRight, and keeps its transparency', async (order) => {
    const file = await targa(await aFolder(), order);
    const middle = ({ width, height, pixels }: { width: number; height: number; pixels: Buffer }) =>
      [...pixels.subarray(((height / 2) * width + width / 2) * 4)].slice(0, 4);
    expect(middle(await expectQuarters((await to(file, 'png')).path, 'png'))[3]).toBe(0);
    const [red = 0, green = 0, blue = 0] = middle(await expectQuarters((await to(file, 'jpg')).path, 'jpg', 30));
    expect(distance([red, green, blue], [255, 255, 255])).toBeLessThan(30);
  });

  it.each(['png', 'bmp'])('is no damaged one to %s where it is a JPEG of 12 bits', async (target) => {
    const file = await picture(await aFolder(), 'deep.jpg');
    const bytes = await readFile(file);
    // Behind the length of the frame's head (ITU-T T.81, B.2.2).
    bytes[bytes.indexOf('\xff\xc0', 0, 'latin1') + 4] = 12;
    await writeFile(file, bytes);
    expect((await convert(ground.url, file, target)).error?.details).toMatchObject({ reason: 'unsupported_variant' });
  });

  it.each(['png', 'jpg', 'bmp', 'heic'])('is read from a GIMP file of version 12 with 16 bits to %s, of all its layers', async (target) => {
    const pixels = (await readFile(await pixmap(await aFolder()))).subarray(-WIDTH * 64 * 3);
    const deep = Buffer.from([...pixels].flatMap((value) => [value, value]));
    const layer = (left: number, width: number) => ({
      ...{ width, height: 64, left },
      pixels: Buffer.concat(
        Array.from({ length: 64 }, (_, row) => deep.subarray((row * WIDTH + left) * 6, (row * WIDTH + left + width) * 6)),
      ),
    });
    const file = join(await aFolder(), 'layers.xcf');
    await writeFile(file, gimp({ version: 12, precision: 250, compression: 2 }, [WIDTH, 64], [layer(0, 48), layer(32, 64)]));
    const { path } = await to(file, target);
    await expectQuarters(path, target);
    if (target === 'png') expect((await sharp(path).metadata()).depth).toBe('ushort');
  });

  it.each(['scan.jls', 'scan.jpg'])('is read from JPEG-LS named %s', async (name) => {
    const file = await jpegLs(await aFolder(), name);
    for (const target of ['png', 'jpg', 'webp']) {
      const { path, job } = await to(file, target);
      await expectQuarters(path, target);
      expect(codes(job)).toEqual(name === 'scan.jls' ? [] : ['content_differs']);
    }
    expect((await sharp((await to(file, 'png')).path).metadata()).depth).toBe('ushort');
  });

  it.each(['png', 'jpg', 'webp', 'tga', 'pdf', 'dds'])('is read from a texture of BC7 to %s', async (target) => {
    await expectQuarters((await to(await textureDds(await aFolder()), target)).path, target, target === 'pdf' ? 40 : 25);
  });

  it.each(['png', 'jpg', 'bmp'])('is read from an AVIF of the general brand `mif1` to %s', async (target) => {
    const folder = await aFolder();
    const file = join(folder, 'general.avif');
    await run('/usr/bin/heif-enc', ['-A', '-q', '95', '-o', file, await picture(folder, 'whole.png', ['-depth', '8'], 'png24')]);
    const bytes = await readFile(file);
    bytes.write('mif1', 8, 'latin1');
    await writeFile(file, bytes);
    await expectQuarters((await to(file, target)).path, target, 30);
  });

  it.each([
    ['png', []],
    ['webp', ['-interlace', 'Plane']],
    ['bmp', []],
    ['tga', ['-interlace', 'Plane']],
    ['heic', []],
    ['jxl', []],
    ['pdf', []],
  ] as const)('is converted to %s from a JPEG without its end, with a warning', async (target, interlace) => {
    const folder = await aFolder();
    const file = await picture(folder, 'cut.jpg', ['-resize', '960x640!', '-quality', '90', ...interlace]);
    const whole = await readFile(file);
    await writeFile(file, whole.subarray(0, Math.floor(whole.length * 0.6)));
    const { path, job } = await to(file, target);
    expect(codes(job)).toEqual(['file_cut_off']);
    for (const [place, colour] of coloursOf(await shownBy(path, target))
      .slice(0, 2)
      .entries())
      expect(distance(colour, QUARTERS[place] ?? [0, 0, 0])).toBeLessThan(30);
    await writeFile(file, whole);
    expect(codes((await to(file, target)).job)).toEqual([]);
  });

  it.each([
    [8, 1],
    [8, 2],
    [16, 2],
    [32, 1],
    [32, 2],
  ] as const)('keeps its greys from a TIFF of %i bits, kind %i', async (bits, kind) => {
    const file = await measuredTiff(await aFolder(), bits, kind);
    for (const target of ['png', 'jpg'])
      for (const [place, [grey]] of coloursOf(await shownBy((await to(file, target)).path, target)).entries())
        expect(Math.abs(grey - (QUARTERS[place]?.[1] ?? 0)), `${target}, quarter ${place}`).toBeLessThan(5);
  });
});

it.each(['png', 'jpg'])('a grey TIFF of floating point goes from black to white in %s', async (target) => {
  const found = await shownBy((await to(await measuredTiff(await aFolder(), 32, 3), target)).path, target);
  const greens = QUARTERS.map(([, green]) => green);
  const [darkest, lightest] = [Math.min(...greens), Math.max(...greens)];
  for (const [place, [grey]] of coloursOf(found).entries())
    expect(Math.abs(grey - (((greens[place] ?? 0) - darkest) / (lightest - darkest)) * 255), `quarter ${place}`).toBeLessThan(5);
});

describe('several pictures in one file', () => {
  it.each(['png', 'jpg', 'tiff'])('as pictures of a HEIC give the one that is meant to be shown as %s', async (target) => {
    const folder = await aFolder();
    const file = join(folder, 'several.heic');
    const other = await picture(folder, 'other.png', ['-negate', '-depth', '8'], 'png24');
    await run('/usr/bin/heif-enc', ['-q', '95', '-o', file, await picture(folder, 'shown.png', ['-depth', '8'], 'png24'), other]);
    await expectQuarters((await to(file, target)).path, target, 30);
  });

  const animation = async (folder: string, format: string) => {
    const path = join(folder, `moving.${format}`);
    const frame = await pixmap(folder);
    await run('/usr/bin/convert-im6.q16', [
      '-delay',
      '20',
      frame,
      '(',
      frame,
      '-negate',
      ')',
      '(',
      frame,
      '-flop',
      ')',
      '-loop',
      '0',
      `${format}:${path}`,
    ]);
    return path;
  };

  it('as a GIF stay an animation in WebP', async () => {
    const { path, job } = await to(await animation(await aFolder(), 'gif'), 'webp');
    expect(await sharp(path).metadata()).toMatchObject({ pages: 3, delay: [200, 200, 200] });
    expect(codes(job)).toEqual([]);
  });

  it.each([
    ['gif', 'png'],
    ['gif', 'jpg'],
    ['gif', 'bmp'],
    ['gif', 'heic'],
    ['webp', 'png'],
    ['webp', 'tga'],
  ])('as an animated %s to %s give the first frame, and say so', async (source, target) => {
    const { path, job } = await to(await animation(await aFolder(), source), target);
    await expectQuarters(path, target, 30);
    expect(codes(job)).toContain('animation_first_frame');
  });

  const pages = async (folder: string) => {
    const path = join(folder, 'scan of two.tiff');
    const page = await pixmap(folder);
    await run('/usr/bin/convert-im6.q16', [page, '(', page, '-resize', '50%', ')', '(', page, '-negate', ')', `tiff:${path}`]);
    return path;
  };

  it('as pages of a TIFF become pages of a PDF', async () => {
    const { path } = await to(await pages(await aFolder()), 'pdf');
    expect((await run('pdfinfo', [path])).stdout).toMatch(/^Pages:\s+3$/m);
    await expectQuarters(path, 'pdf', 40);
  });

  it.each(['png', 'bmp', 'jp2'])('as pages of a TIFF become a ZIP of %s', async (target) => {
    const { path, job } = await to(await pages(await aFolder()), target);
    expect(job.output).toMatchObject({ filename: 'scan of two-filemill.zip', files: 3, content_type: 'application/zip' });
    expect(codes(job)).toContain('zip_of_pages');
    const parts = await unzip(await readFile(path));
    expect([...parts.keys()]).toEqual([1, 2, 3].map((page) => `scan of two-00${page}.${target}`));
    const second = join(ground.home, `second.${target}`);
    await writeFile(second, parts.get(`scan of two-002.${target}`) ?? '');
    expect(await expectQuarters(second, target, 30)).toMatchObject({ width: 48, height: 32 });
  });

  it('as pages of a TIFF are chosen', async () => {
    const { path, job } = await to(await pages(await aFolder()), 'png', { pages: '2' });
    expect(job.output).toMatchObject({ filename: 'scan of two-filemill.png', files: 1 });
    expect(await expectQuarters(path, 'png')).toMatchObject({ width: 48, height: 32 });
  });

  it('as sizes of an icon give the largest', async () => {
    const folder = await aFolder();
    const path = join(folder, 'favicon.ico');
    const square = ['-resize', '64x64!'];
    await run('/usr/bin/convert-im6.q16', [await pixmap(folder), ...square, '-define', 'icon:auto-resize=16,64,32', `ico:${path}`]);
    for (const target of ['png', 'jpg'])
      expect((await decode((await to(path, target)).path, target))[0]).toMatchObject({ width: 64, height: 64 });
  });
});

describe('a picture beyond the bounds', () => {
  const catalog = createCatalog(engines.map((engine) => ({ engine, version: '' })));

  it('of 2,500 megapixels in a few kilobytes is refused for every target', async () => {
    const file = join(await aFolder(), 'giant.png');
    await writeFile(file, giantPng(50_000));
    for (const target of catalog.targets('png')) {
      const { status, error } = await convert(ground.url, file, target);
      expect([status, error?.details['reason']], target).toEqual([500, 'input_limit']);
    }
  });

  it('as a drawing is refused before it is drawn', async () => {
    const file = join(await aFolder(), 'giant.svg');
    await writeFile(
      file,
      '<svg xmlns="http://www.w3.org/2000/svg" width="20000" height="300mm" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>',
    );
    const { error } = await convert(ground.url, file, 'png', { dpi: '600' });
    expect(error?.details).toMatchObject({ reason: 'input_limit', max: 100_000_000 });
  });
});

it('the same bytes under a wrong name give the same result', async () => {
  const folder = await aFolder();
  const file = await picture(folder, 'right.png');
  const sums = new Set<string | undefined>();
  for (const name of ['right.png', 'wrong.jpg', 'without ending', 'report.docx']) {
    const renamed = join(folder, name);
    if (renamed !== file) await copyFile(file, renamed);
    sums.add((await to(renamed, 'bmp')).job.output?.sha256);
  }
  expect(sums.size).toBe(1);
});
