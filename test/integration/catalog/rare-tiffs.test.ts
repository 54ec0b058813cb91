/** TIFFs of kinds that libvips or ImageMagick refuses or misreads, through HTTP, judged by what is in the result. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { photo } from '../../kit/fixtures/pictures/photos.ts';
import { mixedTiff, RARE_TIFFS } from '../../kit/fixtures/pictures/tiffs.ts';
import { unzip } from '../../kit/judges/documents/text.ts';
import { expectQuarters } from '../../kit/judges/pictures/quarters.ts';
import { convert } from '../../kit/roles/service.ts';
import { conversionGround } from './ground.ts';

const run = promisify(execFile);
const ground = conversionGround('tiffs');
const { aFolder, to } = ground;

describe.each(Object.entries(RARE_TIFFS))('a TIFF %s', (_, make) => {
  it.each(['png', 'webp', 'bmp', 'jp2', 'tga', 'heic', 'pdf'])('is the same picture in %s', async (target) => {
    const { path } = await to(await make(await aFolder()), target);
    await expectQuarters(path, target, target === 'pdf' ? 40 : 30);
    if (target === 'png') expect((await sharp(path).stats()).isOpaque).toBe(true);
  });

  it.each(['png', 'ppm'])('is resized in %s', async (target) => {
    const { path } = await to(await make(await aFolder()), target, { img_resize_w: '48' });
    expect(await expectQuarters(path, target, 30)).toMatchObject({ width: 48, height: 32 });
  });
});

describe('a TIFF', () => {
  it.each(['png', 'bmp', 'tiff'])('of two pages, each of another kind, becomes two pictures in %s', async (target) => {
    const { path } = await to(await mixedTiff(await aFolder()), target);
    if (target === 'tiff') {
      const { stdout } = await run('/usr/bin/convert-im6.q16', [`tiff:${path}`, '-format', '%wx%h ', 'info:']);
      expect(stdout).toBe('96x64 96x64 ');
      await run('/usr/bin/convert-im6.q16', [`tiff:${path}[1]`, `${path}.png`]);
      await expectQuarters(`${path}.png`, 'png', 30);
      return;
    }
    const parts = await unzip(await readFile(path));
    expect(parts.size).toBe(2);
    for (const bytes of parts.values()) {
      await writeFile(`${path}.part`, bytes);
      await expectQuarters(`${path}.part`, target, 30);
    }
    const second = await to(await mixedTiff(await aFolder()), target, { pages: '2' });
    await expectQuarters(second.path, target, 30);
  });

  it('of 12 bits keeps more than 8 of them', async () => {
    const { path } = await to((await RARE_TIFFS['of 12 bits']?.(await aFolder())) ?? '', 'png');
    expect((await sharp(path).metadata()).depth).toBe('ushort');
  });

  it.each(['png', 'bmp'])('that both misread is told as what it is, to %s', async (target) => {
    const file = (await RARE_TIFFS['in Lab of 8 bits']?.(await aFolder())) ?? '';
    const bytes = await readFile(file);
    // Photometric interpretation: ICC's Lab.
    bytes.writeUInt16LE(9, bytes.indexOf(Buffer.from([6, 1, 3, 0, 1, 0, 0, 0, 8, 0])) + 8);
    await writeFile(file, bytes);
    expect((await convert(ground.url, file, target)).error?.details).toMatchObject({ reason: 'unsupported_variant' });
  });

  it.each(['png', 'bmp', 'tiff'])('that ends early or is none fails as damaged, to %s', async (target) => {
    const file = (await RARE_TIFFS['of 12 bits']?.(await aFolder())) ?? '';
    const bytes = await readFile(file);
    await writeFile(file, bytes.subarray(0, 5_000));
    expect((await convert(ground.url, file, target)).error?.details).toMatchObject({ reason: 'corrupt_input' });
  });

  it.each(['png', 'bmp', 'tiff'])('that says that it lies, compressed by LZMA, is upright in %s', async (target) => {
    const folder = await aFolder();
    const [plain, path] = [join(folder, 'plain.tiff'), join(folder, 'lying.tiff')];
    await run('/usr/bin/convert-im6.q16', [await photo(folder, 6), '-compress', 'None', `tiff:${plain}`]);
    await run('tiffcp', ['-c', 'lzma', plain, path]);
    expect((await run('tiffinfo', [path])).stdout).toContain('Orientation: row 0 rhs, col 0 top');
    await expectQuarters((await to(path, target)).path, target, 30);
  });
});
