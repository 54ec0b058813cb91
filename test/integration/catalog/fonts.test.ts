/** Real fonts from Debian: what a container keeps, and how the letters look afterwards. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { convertTo, type Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
const TTF = '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf';

let service: Pick<Service, 'url'>;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-fonts-'));
  service = await sharedService();
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Letters as FreeType draws them, by way of ImageMagick. */
async function pictureOf(font: string): Promise<Buffer> {
  const { stdout } = await run(
    '/usr/bin/convert-im6.q16',
    ['-font', font, '-pointsize', '48', '-background', 'white', '-fill', 'black', 'label:Hamburgefonstiv', '-resize', '600x60!', 'png:-'],
    { encoding: 'buffer', maxBuffer: 1 << 24 },
  );
  return sharp(stdout).greyscale().raw().toBuffer();
}

/** Mean difference of two pictures, 0 to 255. */
const difference = (one: Buffer, other: Buffer): number =>
  one.reduce((sum, value, index) => sum + Math.abs(value - (other[index] ?? 0)), 0) / one.length;

it.each(['woff', 'eot'])('a TTF comes back from %s byte by byte', async (container) => {
  const packed = await convertTo(service.url, folder, TTF, container);
  const { path } = await convertTo(service.url, folder, packed.path, 'ttf');
  expect((await readFile(path)).equals(await readFile(TTF))).toBe(true);
  expect(packed.job.warnings).toEqual([]);
});

it('letters look the same with other outlines', async () => {
  const { path, job } = await convertTo(service.url, folder, TTF, 'otf');
  const [before, after] = [await pictureOf(TTF), await pictureOf(path)];
  expect(difference(before, after)).toBeLessThan(6);
  expect(difference(before, await pictureOf('/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf'))).toBeGreaterThan(12);
  expect(JSON.stringify(job.warnings)).toContain('hinting');
});

it('a font of thousands of glyphs becomes the source of a typeface, and a font again', async () => {
  const source = await convertTo(service.url, folder, TTF, 'ufoz');
  const { stdout } = await run('unzip', ['-Z1', source.path], { maxBuffer: 1 << 24 });
  expect(stdout.match(/\.glif$/gm)?.length).toBeGreaterThan(6000);
  const { path } = await convertTo(service.url, folder, source.path, 'ttf');
  expect(difference(await pictureOf(TTF), await pictureOf(path))).toBeLessThan(6);
});
