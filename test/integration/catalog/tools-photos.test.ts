/** What the tools for photos do without any model, over HTTP: each has to bring a photo that was made worse nearer to what it was. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool, outputOf } from '../../kit/api/tools.ts';
import { photo as photoOf } from '../../kit/fixtures/pictures/photos.ts';
import type { Answer, Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';

let service: Pick<Service, 'url'>;
let home: string;
let photo: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-photo-tools-'));
  service = await sharedService();
  photo = await made('photo.png', ...SCENE);
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

/** Soft clouds, sharp shapes, thin lines and words: what photos have. */
const SCENE = [
  ...['-size', '480x320', '-seed', '5', 'plasma:', '-blur', '0x4', '-modulate', '100,60'],
  ...['-fill', '#30343a', '-draw', 'rectangle 60,150 180,300', '-fill', '#e8e4da', '-draw', 'circle 330,200 330,140'],
  ...['-fill', '#7a4a2c', '-draw', 'polygon 200,300 250,120 300,300', '-fill', 'none', '-stroke', '#202020', '-draw', 'line 20,40 460,70'],
  ...['-stroke', 'none', '-fill', '#f4f4f0', '-pointsize', '30', '-annotate', '+70+200', 'Photo', '-depth', '8', '-type', 'TrueColor'],
];
let count = 0;
async function made(name: string, ...args: readonly string[]): Promise<string> {
  const path = join(home, `${++count}-${name}`);
  await run(CONVERT, [...args, path]);
  return path;
}
const worse = (...args: readonly string[]) => made('worse.png', photo, '-seed', '3', ...args, '-depth', '8');

async function use(slug: string, file: string, fields: Record<string, string> = {}) {
  const answer = await callTool(service, slug, file, fields);
  const path = join(home, `${++count}-${answer.data?.output?.filename}`);
  await writeFile(path, await outputOf(service, answer));
  if (answer.data === undefined) throw new Error('no job');
  return { path, job: answer.data };
}

/** How near two pictures are, dB: 20 times the logarithm of the range over the root of the mean square. */
async function psnr(a: string, b: string): Promise<number> {
  const [first, second] = await Promise.all([a, b].map((path) => pixelsOf(path)));
  if (first === undefined || second === undefined || first.length !== second.length) throw new Error('of different sizes');
  const sum = first.reduce((total, value, at) => total + (value - (second[at] as number)) ** 2, 0);
  return 10 * Math.log10(255 ** 2 / (sum / first.length));
}
const pixelsOf = async (path: string, ...args: readonly string[]): Promise<Buffer> =>
  (await run(CONVERT, [path, ...args, '-depth', '8', 'rgb:-'], { encoding: 'buffer', maxBuffer: 1 << 28 })).stdout;
const sizeOf = async (path: string) => (await run(CONVERT, [path, '-format', '%wx%h %m %[channels]', 'info:'])).stdout;

/** A blue disc before nothing, whose colour would be red. */
const cutDisc = () =>
  made('cut.png', '-size', '40x40', 'xc:#ff000000', '-fill', '#0000ff', '-draw', 'circle 20,20 20,8', '-type', 'TrueColorAlpha');

describe('upscale-image', () => {
  it.each([['2'], ['3x'], ['4']])('enlarges %s times, nearer to the photo than Lanczos is', async (scale) => {
    const factor = Number(scale[0]);
    const whole = await made('whole.png', photo, '-gravity', 'center', '-crop', '480x312+0+0', '+repage');
    const small = await made('small.png', whole, '-filter', 'Lanczos', '-resize', `${480 / factor}x${312 / factor}!`, '-depth', '8');
    const plain = await made('plain.png', small, '-filter', 'Lanczos', '-resize', '480x312!', '-depth', '8');
    const { path, job } = await use('upscale-image', small, { scale });
    expect(job.engine).toMatchObject({ name: 'classical' });
    expect(await psnr(path, whole)).toBeGreaterThan((await psnr(plain, whole)) + 0.25);
  });

  it('keeps transparency, whose colour does not bleed into what is seen', async () => {
    const file = await cutDisc();
    const { path } = await use('upscale-image', file);
    expect(await sizeOf(path)).toMatch(/^80x80 PNG s?rgba/);
    const onBlack = await pixelsOf(path, '-background', 'black', '-alpha', 'remove');
    expect(Math.max(...onBlack.filter((_, at) => at % 3 === 0))).toBeLessThan(8);
  });

  it('turns a photo upright first, keeps its format, and has 16 bits a colour where it has', async () => {
    const sideways = await photoOf(home, 6);
    expect(await sizeOf((await use('upscale-image', sideways)).path)).toMatch(/^192x128 JPEG/);
    const deep = await made('deep.tiff', '-size', '64x16', 'gradient:#808080-#828282', '-depth', '16', '-type', 'TrueColor');
    const { path } = await use('upscale-image', deep);
    const { stdout } = await run(CONVERT, [path, '-format', '%k %m', 'info:']);
    expect(Number(stdout.split(' ')[0])).toBeGreaterThan(8);
  });

  it('draws details by a model where it is asked for, and keeps what is there', async () => {
    const whole = await made('face.png', photo, '-gravity', 'center', '-crop', '128x96+0+0', '+repage');
    const small = await made('small.png', whole, '-filter', 'Lanczos', '-resize', '64x48!', '-depth', '8');
    const { path, job } = await use('upscale-image', small, { scale: '2', model: 'realesrgan-x4plus' });
    expect(job.engine).toMatchObject({ name: 'realesrgan-x4plus' });
    expect(await sizeOf(path)).toMatch(/^128x96 PNG s?rgb/);
    // The same picture, with more than what was in the small one: what is drawn is not what was there to the pixel.
    expect(await psnr(path, whole)).toBeGreaterThan(20);
    const plain = await made('plain.png', small, '-filter', 'Lanczos', '-resize', '128x96!', '-depth', '8');
    const steepness = async (file: string) => {
      const { stdout } = await run(CONVERT, [
        file,
        '-colorspace',
        'gray',
        '-define',
        'convolve:scale=!',
        '-morphology',
        'Convolve',
        'Laplacian:0',
        '-format',
        '%[fx:standard_deviation]',
        'info:',
      ]);
      return Number(stdout);
    };
    expect(await steepness(path)).toBeGreaterThan(1.2 * (await steepness(plain)));
  });

  it('keeps transparency, grey and 16 bits with a model', async () => {
    const grey = await made('grey.tiff', photo, '-resize', '40x30!', '-colorspace', 'gray', '-depth', '16', '-type', 'Grayscale');
    const large = (await use('upscale-image', grey, { scale: '3', model: 'realesrgan-x4plus' })).path;
    expect(await sizeOf(large)).toMatch(/^120x90 TIFF/);
    expect((await run(CONVERT, [large, '-format', '%z', 'info:'])).stdout).toBe('16');
    const shades = await pixelsOf(large);
    expect(shades.every((value, at) => value === shades[at - (at % 3)])).toBe(true);
    const cut = await cutDisc();
    const { path } = await use('upscale-image', cut, { model: 'realesrgan-x4plus' });
    expect(await sizeOf(path)).toMatch(/^80x80 PNG s?rgba/);
    const onBlack = await pixelsOf(path, '-background', 'black', '-alpha', 'remove');
    expect(Math.max(...onBlack.filter((_, at) => at % 3 === 0))).toBeLessThan(24);
    const [red = 0, , blue = 0] = onBlack.subarray((40 * 80 + 40) * 3);
    expect([red < 24, blue > 225]).toEqual([true, true]);
  });

  it('refuses a result of more than 32 megapixels before it decodes anything, a model that is not there, and another factor', async () => {
    const large = await made('large.png', '-size', '3000x1500', 'xc:#405060');
    const refused = async (file: string, fields: Record<string, string>) => (await callTool(service, 'upscale-image', file, fields)).error;
    expect(await refused(large, { scale: '4' })).toMatchObject({ details: { reason: 'input_limit', limit: 'pixels', max: 2_000_000 } });
    const known = { option: 'model', received: 'esrgan', allowed: 'classical or realesrgan-x4plus' };
    expect(await refused(photo, { model: 'esrgan' })).toMatchObject({ code: 'INVALID_OPTION', details: known });
    const medium = await made('medium.png', '-size', '1000x501', 'xc:#405060');
    expect(await refused(medium, { model: 'realesrgan-x4plus' })).toMatchObject({
      details: { limit: 'pixels', max: 500_000, received: 501_000 },
    });
    expect(await refused(photo, { scale: '5' })).toMatchObject({ code: 'INVALID_OPTION', details: { allowed: '2, 3 or 4' } });
  });
});

describe('a model that draws the photo again', () => {
  it.each(['enhance-photo', 'restore-old-photo'])('takes the noise away in %s, where the request names it', async (slug) => {
    // With black and white in it, tones stay as they are.
    const shapes = ['-fill', '#000', '-draw', 'rectangle 0,0 40,95', '-fill', '#fff', '-draw', 'circle 70,50 70,30'];
    const clean = await made('clean.png', '-size', '96x96', 'xc:#808080', ...shapes, '-depth', '8');
    const noisy = await made('noisy.png', clean, '-seed', '5', '-attenuate', '0.3', '+noise', 'Gaussian', '-depth', '8');
    const { path, job } = await use(slug, noisy, { model: 'realesrgan-x4plus' });
    expect(job.engine).toMatchObject({ name: 'realesrgan-x4plus' });
    expect(await sizeOf(path)).toMatch(/^96x96 PNG/);
    expect(await psnr(path, clean)).toBeGreaterThan((await psnr(noisy, clean)) + 3);
    const large = await made('large.png', '-size', '1000x501', 'xc:#405060');
    const { error } = await callTool(service, slug, large, { model: 'realesrgan-x4plus' });
    expect(error).toMatchObject({ details: { limit: 'pixels', max: 500_000, received: 501_000 } });
  });
});

describe('enhance-photo', () => {
  it('takes a tint away', async () => {
    const tinted = await worse('-channel', 'R', '-evaluate', 'multiply', '0.75', '+channel');
    const greys = async (path: string) => {
      // The disc is nearly white.
      const [r = 0, g = 0, b = 0] = await pixelsOf(path, '-crop', '20x20+320+190', '-scale', '1x1!');
      return Math.max(r, g, b) - Math.min(r, g, b);
    };
    expect(await greys((await use('enhance-photo', tinted)).path)).toBeLessThan((await greys(tinted)) / 2);
  });

  it('gives a dull photo its range again', async () => {
    const dull = await worse('+level', '30%,65%');
    const { path, job } = await use('enhance-photo', dull);
    expect(await psnr(path, photo)).toBeGreaterThan((await psnr(dull, photo)) + 3);
    expect(job.warnings).toEqual([]);
  });

  it('does what it can with a JPEG without its end, and says so', async () => {
    const whole = await readFile(await made('whole.jpg', photo, '-quality', '90'));
    const cut = join(home, 'cut.jpg');
    await writeFile(cut, whole.subarray(0, whole.length * 0.7));
    for (const slug of ['enhance-photo', 'upscale-image', 'restore-old-photo'])
      expect((await use(slug, cut)).job.warnings.map(({ code }) => code)).toContain('file_cut_off');
  });

  it.each([
    ['as grey', []],
    ['in red, green and blue', ['-type', 'TrueColor']],
  ])('does the same to a black-and-white photo that is stored %s, which stays grey, and says so', async (_, stored) => {
    const grey = await worse('-colorspace', 'Gray', '+level', '30%,65%', ...stored);
    const { path, job } = await use('enhance-photo', grey);
    expect(job.warnings.map(({ code }) => code)).toEqual(['not_colourised']);
    const pixels = await pixelsOf(path);
    expect(pixels.every((value, at) => Math.abs(value - (pixels[at - (at % 3)] as number)) <= 1)).toBe(true);
  });
});

describe('restore-old-photo', () => {
  const SCRATCHES = ['-stroke', '#fcfcfc', '-strokewidth', '2', '-draw', 'line 30,0 60,319 line 400,10 380,310 line 10,250 470,230'];

  it('takes scratches out, and says that it does not colour', async () => {
    const scratched = await worse(...SCRATCHES);
    const { path, job } = await use('restore-old-photo', scratched);
    // Only the scratches count: what else the tool changes is the same in both.
    const restored = await use('restore-old-photo', photo);
    expect(await psnr(path, restored.path)).toBeGreaterThan((await psnr(scratched, photo)) + 4);
    expect(job.warnings.map(({ code }) => code)).toEqual(['not_colourised']);
  });

  it('takes noise away, and brings back the range', async () => {
    const noisy = await worse('+level', '20%,75%', '-attenuate', '0.6', '+noise', 'Gaussian');
    expect(await psnr((await use('restore-old-photo', noisy)).path, photo)).toBeGreaterThan((await psnr(noisy, photo)) + 3);
  });
});

describe('remove-object', () => {
  const SPOT = ['-fill', '#d01818', '-draw', 'rectangle 100,60 139,89'];
  const stripes = () =>
    made('stripes.png', '-size', '240x160', 'pattern:VERTICAL2', '-scale', '200%', '-crop', '240x160+0+0', '+repage', '-type', 'TrueColor');

  it('fills a rectangle with what is around it, patterns too, and touches nothing else', async () => {
    const before = await stripes();
    const spotted = await made('spotted.png', before, ...SPOT);
    const { path } = await use('remove-object', spotted, { x: '100', y: '60', w: '40', h: '30', model: 'classical' });
    expect(await psnr(path, before)).toBeGreaterThan(30);
    const outside = ['-fill', 'black', '-draw', 'rectangle 100,60 139,89'];
    expect(await pixelsOf(path, ...outside)).toEqual(await pixelsOf(spotted, ...outside));
  });

  it('draws by MI-GAN what could have been there, and touches nothing else', async () => {
    const before = await made(
      'sky.png',
      '-size',
      '240x160',
      'gradient:skyblue-green',
      '-seed',
      '3',
      '-attenuate',
      '0.2',
      '+noise',
      'Gaussian',
      '-depth',
      '8',
    );
    const spotted = await made('spotted-sky.png', before, ...SPOT);
    const { path, job } = await use('remove-object', spotted, { x: '98', y: '58', w: '44', h: '34' });
    expect(job).toMatchObject({ engine: { name: 'migan' } });
    expect(await psnr(path, before)).toBeGreaterThan(30);
    const outside = ['-fill', 'black', '-draw', 'rectangle 98,58 141,91'];
    expect(await pixelsOf(path, ...outside)).toEqual(await pixelsOf(spotted, ...outside));
  });

  it('takes a mask, whichever of the two files comes first', async () => {
    const before = await stripes();
    const [spotted, mask] = [
      await made('spotted.png', before, ...SPOT),
      await made('mask.png', '-size', '240x160', 'xc:black', '-fill', 'white', '-draw', 'rectangle 98,58 141,91'),
    ];
    const form = new FormData();
    for (const [field, path] of [
      ['mask', mask],
      ['file', spotted],
    ] as const)
      form.append(field, new Blob([await pngOf(path)]), 'a.png');
    form.append('model', 'classical');
    const answer = (await (await fetch(`${service.url}/api/v1/tools/remove-object`, { method: 'POST', body: form })).json()) as Omit<
      Answer,
      'status'
    >;
    const path = join(home, `${++count}-removed.png`);
    await writeFile(path, await outputOf(service, { status: 200, ...answer }));
    expect(await psnr(path, before)).toBeGreaterThan(30);
  });

  it('says what it needs', async () => {
    const refused = async (fields: Record<string, string>, files: string | string[] = photo) =>
      (await callTool(service, 'remove-object', files, fields)).error;
    expect(await refused({})).toMatchObject({ code: 'BAD_REQUEST' });
    expect(await refused({ x: '1', y: '1', w: '5' })).toMatchObject({ code: 'INVALID_OPTION', details: { option: 'h' } });
    expect(await refused({ x: '470', y: '1', w: '50', h: '5' })).toMatchObject({
      code: 'INVALID_OPTION',
      details: { option: 'w', allowed: 'at most 10 px from there on in this picture' },
    });
    const black = await made('black.png', '-size', '480x320', 'xc:black');
    expect(await refused({}, [photo, black])).toMatchObject({ details: { reason: 'input_limit', limit: 'pixels to remove' } });
    const small = await made('small.png', '-size', '8x8', 'xc:white');
    expect(await refused({}, [photo, small])).toMatchObject({ code: 'INVALID_OPTION', details: { option: 'mask', received: '8 × 8 px' } });
  });
});

const pngOf = async (path: string) => new Uint8Array((await run(CONVERT, [path, 'png:-'], { encoding: 'buffer' })).stdout);
