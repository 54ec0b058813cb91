/** Slow: an encoder takes half a minute for 50 megapixels. Good pictures that are large are converted within the memory of a conversion, or refused for lack of it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { convert, type Service, settled, startService, untilEnded } from '../../kit/roles/service.ts';

let service: Service;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-large-'));
  service = await startService({ worker: { slots: { image: 1, media: 0, pdf: 0, office: 0, assets: 0, web: 0 } } });
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A photo's colours: a ramp with noise, so that an encoder has work. */
async function photo(width: number, height: number): Promise<string> {
  const path = join(folder, `${width}.jpg`);
  const noise = await sharp({
    create: { width: 256, height: 256, channels: 3, background: 'teal', noise: { type: 'gaussian', mean: 128, sigma: 30 } },
  })
    .png()
    .toBuffer();
  await sharp(noise, { limitInputPixels: false })
    .resize(width, height, { fit: 'fill', kernel: 'cubic' })
    .jpeg({ quality: 90 })
    .toFile(path);
  return path;
}

it.each([
  ['of 50 megapixels', 8_160, 6_120, {}, [8_160, 6_120]],
  ['made as wide as may be asked for', 1_000, 872, { img_resize_w: '7680' }, [7_680, 6_697]],
] as const)(
  'a JPEG %s becomes an AVIF',
  async (_, width, height, fields, size) => {
    const sent = await convert(service.url, await photo(width, height), 'avif', fields, { prefer: 'respond-async' });
    const { data, error } = await untilEnded(service.url, sent.data?.job_id ?? '', 600_000);
    expect([data?.status, error]).toEqual(['done', undefined]);
    const path = join(folder, `${width}.avif`);
    await writeFile(path, Buffer.from(await (await fetch(data?.output?.url ?? '')).arrayBuffer()));
    const found = await sharp(path, { limitInputPixels: false }).metadata();
    expect([found.width, found.height]).toEqual(size);
    // What it loses for its size is said, and nothing else.
    expect(data?.warnings.map(({ message }) => message)).toEqual([expect.stringContaining('colours have half its resolution')]);
  },
  900_000,
);

it('a picture that no memory is enough for is refused for that, and not called damaged', async () => {
  const path = join(folder, 'wide.png');
  await sharp({ create: { width: 9_900, height: 9_900, channels: 3, background: 'teal' }, limitInputPixels: false })
    .png()
    .toFile(path);
  const { error } = await settled(service.url, await convert(service.url, path, 'avif'));
  expect([error?.code, error?.details['reason'], error?.details['limit']]).toEqual(['CONVERSION_FAILED', 'memory', 'pixels of avif']);
}, 300_000);
