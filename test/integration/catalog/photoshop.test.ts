/** Photoshop files with a palette and of floats, through HTTP, judged by what is in the result. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { HEIGHT, WIDTH } from '../../kit/fixtures/pictures/photos.ts';
import { floatPsd, indexedPsd } from '../../kit/fixtures/pictures/psd.ts';
import { expectQuarters } from '../../kit/judges/pictures/quarters.ts';
import { convert } from '../../kit/roles/service.ts';
import { conversionGround } from './ground.ts';

const run = promisify(execFile);
const ground = conversionGround('psd');
const { aFolder, to } = ground;
const middle = ({ pixels }: { pixels: Buffer }) => pixels[((HEIGHT / 2) * WIDTH + WIDTH / 2) * 4 + 3];

describe('a Photoshop file', () => {
  it.each([
    { isPacked: false, isLarge: false },
    { isPacked: true, isLarge: false },
    { isPacked: true, isLarge: true },
  ])('with a palette keeps its colours (packed: $isPacked, PSB: $isLarge)', async (options) => {
    const file = await indexedPsd(await aFolder(), { isClear: false, ...options });
    for (const target of ['png', 'jpg', 'webp', 'pdf', ...(options.isLarge ? [] : ['bmp', 'tiff'])]) {
      const { path } = await to(file, target);
      await expectQuarters(path, target, target === 'pdf' ? 40 : 30);
      // At 144 dots an inch.
      if (target === 'pdf') expect((await run('pdfinfo', [path])).stdout).toMatch(/^Page size: +48 x 32 pts/m);
    }
  });

  it('with a transparent colour is transparent there, or laid on white', async () => {
    const file = await indexedPsd(await aFolder(), { isClear: true });
    expect(middle(await expectQuarters((await to(file, 'png')).path, 'png', 30))).toBe(0);
    expect(middle(await expectQuarters((await to(file, 'jpg')).path, 'jpg', 30))).toBe(255);
  });

  it.each([
    { isPacked: false, isLarge: false },
    { isPacked: true, isLarge: true },
  ])('of floats is as bright as its layers (packed: $isPacked, PSB: $isLarge)', async (options) => {
    const file = await floatPsd(await aFolder(), options);
    for (const target of ['png', 'jpg', 'webp', 'pdf'])
      await expectQuarters((await to(file, target)).path, target, target === 'pdf' ? 40 : 30);
    expect(await expectQuarters((await to(file, 'png', { img_resize_w: '48' })).path, 'png', 30)).toMatchObject({ width: 48, height: 32 });
  });

  it.each([true, false])('that ends early fails as damaged (packed: %s)', async (isPacked) => {
    for (const file of [await indexedPsd(await aFolder(), { isClear: false, isPacked }), await floatPsd(await aFolder(), { isPacked })]) {
      const bytes = await readFile(file);
      await writeFile(file, bytes.subarray(0, bytes.length - (isPacked ? 300 : 1_000)));
      for (const target of ['png', 'bmp', 'pdf'])
        expect((await convert(ground.url, file, target)).error?.details, target).toMatchObject({ reason: 'corrupt_input' });
    }
  });
});
