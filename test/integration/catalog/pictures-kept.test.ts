/** What pictures keep, or are said to lose: how a WebP lies, light by gamma alone, a gain map, the frames of an AVIF; and sides that are too long. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32, deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { coloursOf, distance, shownBy } from '../../kit/judges/pictures/quarters.ts';
import { convert, settled } from '../../kit/roles/service.ts';
import { conversionGround } from './ground.ts';

const run = promisify(execFile);
const ground = conversionGround('pictures');
const inFolder = async (name: string) => join(await ground.aFolder(), name);

const be = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const le = (value: number, length = 4): Buffer => {
  const bytes = Buffer.alloc(length);
  bytes.writeUIntLE(value, 0, length);
  return bytes;
};

const pngChunk = (name: string, data: Buffer): Buffer => {
  const named = Buffer.concat([Buffer.from(name), data]);
  return Buffer.concat([be(data.length), named, be(crc32(named))]);
};

/** A picture of one colour, in 8 bits. @param between chunks before the pixels */
function aPng(width: number, height: number, rgba: readonly number[], ...between: readonly Buffer[]): Buffer {
  const row = Buffer.concat([Buffer.from([0]), ...Array.from({ length: width }, () => Buffer.from(rgba))]);
  const header = Buffer.concat([be(width), be(height), Buffer.from([8, rgba.length === 4 ? 6 : 2, 0, 0, 0])]);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  const chunks = [pngChunk('IHDR', header), ...between, pngChunk('IDAT', pixels), pngChunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...chunks]);
}

const webpChunk = (name: string, data: Buffer): Buffer =>
  Buffer.concat([Buffer.from(name), le(data.length), data, Buffer.alloc(data.length % 2)]);

/** 60 × 40 px, blue on the left and red on the right, which EXIF turns by a quarter: blue is above. */
async function turned(): Promise<string> {
  const plain = await inFolder('plain.webp');
  const half = ['-f', 'lavfi', '-i', 'color=red:s=60x40,drawbox=w=30:color=blue:t=fill'];
  await run('ffmpeg', ['-v', 'error', '-y', ...half, '-frames:v', '1', '-c:v', 'libwebp', plain]);
  const exif = Buffer.concat([Buffer.from('II*\0'), le(8), le(1, 2), le(0x112, 2), le(3, 2), le(1), le(6), le(0)]);
  const extended = webpChunk('VP8X', Buffer.concat([le(8), le(59, 3), le(39, 3)]));
  const body = Buffer.concat([Buffer.from('WEBP'), extended, (await readFile(plain)).subarray(12), webpChunk('EXIF', exif)]);
  const path = await inFolder('turned.webp');
  await writeFile(path, Buffer.concat([Buffer.from('RIFF'), le(body.length), body]));
  return path;
}

const [BLUE, RED] = [
  [0, 0, 255],
  [255, 0, 0],
] as const;

describe('a WebP that EXIF turns', () => {
  it.each(['bmp', 'jp2', 'tga', 'ppm', 'pcx', 'psd', 'heic', 'xpm', 'sgi', 'dds', 'hdr', 'png', 'jpg', 'tiff'])(
    'is upright as %s',
    async (target) => {
      const { path } = await ground.to(await turned(), target);
      const picture = await shownBy(path, target);
      expect([picture.width, picture.height]).toEqual([40, 60]);
      const [upperLeft = BLUE, upperRight = BLUE, lowerLeft = RED, lowerRight = RED] = coloursOf(picture);
      for (const colour of [upperLeft, upperRight]) expect(distance(colour, BLUE)).toBeLessThan(60);
      for (const colour of [lowerLeft, lowerRight]) expect(distance(colour, RED)).toBeLessThan(60);
    },
  );
});

describe('a PNG that states its gamma alone', () => {
  // Half of the light: 255 × 0.5 ^ (1 / 2.2) as screens have it.
  it.each(['png', 'jpg', 'webp', 'bmp', 'tiff'].flatMap((target) => [[100_000, 128, target] as const, [55_556, 174, target] as const]))(
    'of %d shows level %d by its light as %s',
    async (gamma, level, target) => {
      const path = await inFolder('gamma.png');
      await writeFile(path, aPng(32, 32, [level, level, level], pngChunk('gAMA', be(gamma))));
      const { path: result } = await ground.to(path, target);
      const [shown = [0, 0, 0]] = coloursOf(await shownBy(result, target));
      const light = (level / 255) ** (100_000 / gamma);
      expect(distance(shown, [0, 1, 2].map(() => 255 * light ** (1 / 2.2)) as [number, number, number])).toBeLessThan(8);
    },
  );

  it('keeps its opacity', async () => {
    const path = await inFolder('clear.png');
    await writeFile(path, aPng(32, 32, [128, 128, 128, 100], pngChunk('gAMA', be(100_000))));
    const { path: result } = await ground.to(path, 'webp');
    const { pixels } = await shownBy(result, 'webp');
    expect(Math.abs((pixels[3] ?? 0) - 100)).toBeLessThan(3);
  });
});

describe('a JPEG with a gain map', () => {
  const XMP =
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description ' +
    'xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/" xmlns:Item="http://ns.google.com/photos/1.0/container/item/" hdrgm:Version="1.0" Item:Semantic="GainMap"/></rdf:RDF></x:xmpmeta>';

  it.each(['png', 'webp', 'avif', 'tiff'])('becomes %s without what announces the map, and the job says so', async (target) => {
    const plain = await inFolder('plain.jpg');
    await run('ffmpeg', ['-v', 'error', '-y', '-f', 'lavfi', '-i', 'color=gray:s=64x64', '-frames:v', '1', plain]);

    const bytes = await readFile(plain);
    const said = Buffer.from(`http://ns.adobe.com/xap/1.0/\0${XMP}`);
    const segment = Buffer.concat([Buffer.from([0xff, 0xe1]), be(said.length + 2).subarray(2), said]);
    const path = await inFolder('gain.jpg');
    await writeFile(path, Buffer.concat([bytes.subarray(0, 2), segment, bytes.subarray(2)]));
    const { path: result, job } = await ground.to(path, target);
    expect((await readFile(result)).includes('hdr-gain-map')).toBe(false);
    expect(job.warnings.map(({ message }) => message)).toContain('This conversion from jpg does not keep: the gain map for HDR displays.');
  });
});

describe('a picture with a longer side than programs open', () => {
  it.each(['ico', 'tga', 'psd', 'pcx', 'heic'])('is refused as %s with the limit', async (target) => {
    const answer = await settled(ground.url, await convert(ground.url, { name: 'long.png', bytes: aPng(33_000, 1, [1, 2, 3]) }, target));
    expect(answer.error?.details).toMatchObject({ reason: 'input_limit', limit: 'side in pixels', max: 32_000, received: 33_000 });
  });
});
