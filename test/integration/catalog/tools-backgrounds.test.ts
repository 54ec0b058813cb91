/** The tools that need a model of what stands out in a photo, over HTTP, with the real models and photos whose answer is known. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, open, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findModels } from '../../../src/exec/models/installed.ts';
import { readManifest } from '../../../src/exec/models/manifest.ts';
import { callTool, outputOf, type Sent } from '../../kit/api/tools.ts';
import { HEIGHT, photo as photoOf, WIDTH } from '../../kit/fixtures/pictures/photos.ts';
import type { Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';
const PHOTOS = '.cache/test/photos';
const PORTRAIT = `${PHOTOS}/astronaut.png`;

let service: Pick<Service, 'url'>;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-backgrounds-'));
  service = await sharedService();
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

let count = 0;
async function use(slug: string, files: Sent | readonly Sent[], fields: Record<string, string> = {}) {
  const answer = await callTool(service, slug, files, fields);
  if (answer.data === undefined || answer.error !== undefined) throw new Error(JSON.stringify(answer));
  const path = join(home, `${++count}-${answer.data.output?.filename}`);
  await writeFile(path, await outputOf(service, answer));
  return { path, job: answer.data };
}
const sent = async (field: string, path: string): Promise<Sent> => ({ field, name: basename(path), bytes: await readFile(path) });
async function made(name: string, ...args: readonly string[]): Promise<string> {
  const path = join(home, `${++count}-${name}`);
  await run(CONVERT, [...args, path]);
  return path;
}
const describeOf = async (path: string) => (await run(CONVERT, [path, '-format', '%m %wx%h', 'info:'])).stdout;
/** Mean of a channel in a part of a picture, 0 to 1. */
async function mean(path: string, channel: 'A' | 'R' | 'G' | 'B', part: string): Promise<number> {
  const { stdout } = await run(CONVERT, [
    path,
    '-alpha',
    'set',
    '-channel',
    channel,
    '-separate',
    '-crop',
    part,
    '+repage',
    '-format',
    '%[fx:mean]',
    'info:',
  ]);
  return Number(stdout);
}

describe.each(['u2net', 'u2netp'])('remove-background by %s', (model) => {
  it('keeps the person and takes what is behind', async () => {
    const { path, job } = await use('remove-background', PORTRAIT, { model });
    expect(await describeOf(path)).toBe('PNG 512x512');
    expect(job).toMatchObject({ engine: { name: model } });
    // The face, the suit; the wall at the upper right.
    expect(await mean(path, 'A', '60x60+195+85')).toBeGreaterThan(0.98);
    expect(await mean(path, 'A', '80x80+100+330')).toBeGreaterThan(0.98);
    expect(await mean(path, 'A', '120x120+380+20')).toBeLessThan(0.02);
  });
  it('agrees with what is known of a picture that was put together', async () => {
    const shape = ['-size', '640x480', 'xc:black', '-fill', 'white', '-draw', 'circle 320,250 320,110'];
    const truth = await made('truth.png', ...shape);
    const scene = await made(
      'scene.png',
      ...['-size', '640x480', 'gradient:#9fc3e8-#dfe8d8'],
      ...['-fill', '#b5382c', '-draw', 'circle 320,250 320,110', '-fill', '#e6c9a8', '-draw', 'circle 290,210 290,180'],
    );
    const { path } = await use('remove-background', scene, { model });
    const pixels = async (args: readonly string[]) =>
      (await run(CONVERT, [...args, '-depth', '8', 'gray:-'], { encoding: 'buffer', maxBuffer: 1 << 24 })).stdout;
    const [right, got] = [await pixels([truth]), await pixels([path, '-alpha', 'extract'])];
    let [both, either] = [0, 0];
    for (let i = 0; i < right.length; i++) {
      const [a, b] = [(right[i] as number) > 127, (got[i] as number) > 127];
      if (a && b) both++;
      if (a || b) either++;
    }
    expect(both / either).toBeGreaterThan(0.9);
  });
});

describe('without a model', () => {
  /** A sign before a wall that a lamp lights from above, as JPEG. */
  const sign = () =>
    made(
      'a sign.jpg',
      ...['-size', '400x300', 'gradient:#f2f2f4-#d8d9de', '-fill', '#8a3b2a', '-draw', 'roundrectangle 120,70 280,230 20,20'],
      ...['-fill', '#203040', '-draw', 'rectangle 150,180 250,230', '-quality', '90'],
    );

  it('a plain background is taken away', async () => {
    const { path, job } = await use('remove-background', await sent('file', await sign()), { model: 'classical' });
    expect(job.engine?.name).toBe('classical');
    expect(job.warnings ?? []).toEqual([]);
    expect(await mean(path, 'A', '140x140+130+80')).toBeGreaterThan(0.995);
    expect(await mean(path, 'A', '110x300+0+0')).toBeLessThan(0.002);
    expect(await mean(path, 'A', '400x60+0+240')).toBeLessThan(0.002);
  });

  it('another one takes its place, a colour or a picture', async () => {
    const coloured = await use('change-background', await sent('file', await sign()), { model: 'classical', color: '#00ff00' });
    expect(await mean(coloured.path, 'G', '100x300+0+0')).toBeGreaterThan(0.98);
    expect(await mean(coloured.path, 'R', '100x300+0+0')).toBeLessThan(0.02);
    const wall = await made('wall.png', '-size', '80x60', 'xc:#0000ff');
    const files = [await sent('file', await sign()), await sent('background', wall)];
    const before = await use('change-background', files, { model: 'classical' });
    expect(await mean(before.path, 'B', '100x300+0+0')).toBeGreaterThan(0.98);
    expect(await mean(before.path, 'R', '100x80+150+90')).toBeGreaterThan(0.5);
  });

  it('a busy one is refused, with what is lacking', async () => {
    const answer = await callTool(service, 'remove-background', await sent('file', PORTRAIT), { model: 'classical' });
    expect(answer.error).toMatchObject({ code: 'CONVERSION_FAILED', details: { reason: 'model_not_installed' } });
    expect(answer.error?.message).toMatch(/not plain/);
  });

  it('a subject that hardly differs is told', async () => {
    const pale = await made('pale.png', '-size', '200x150', 'xc:#fafafa', '-fill', '#eeeeee', '-draw', 'circle 100,75 100,30');
    const { job } = await use('remove-background', await sent('file', pale), { model: 'classical' });
    expect(job.warnings?.map(({ code }) => code)).toEqual(['low_confidence']);
  });
});

describe('remove-background', () => {
  it('uses the better model where it is installed', async () =>
    expect((await use('remove-background', PORTRAIT)).job).toMatchObject({ engine: { name: 'u2net' } }));
  it('turns a photo upright first, and keeps 16 bits', async () => {
    const upright = await use('remove-background', await photoOf(home, 6));
    expect(await describeOf(upright.path)).toBe(`PNG ${WIDTH}x${HEIGHT}`);
    const deep = await made('deep.png', PORTRAIT, '-depth', '16', '-define', 'png:bit-depth=16');
    const { path } = await use('remove-background', deep);
    expect((await run(CONVERT, [path, '-format', '%[bit-depth]', 'info:'])).stdout).toBe('16');
  });
  it('says so where nothing stands out', async () => {
    const noise = await made('noise.png', '-size', '300x300', '-seed', '3', 'xc:gray', '+noise', 'Random');
    const { job } = await use('remove-background', noise);
    expect(job.warnings?.map(({ code }) => code)).toEqual([expect.stringMatching(/^(no_subject|low_confidence)$/)]);
  });
});

describe('change-background', () => {
  it('puts a colour there, in the format of the photo', async () => {
    const photo = await made('portrait.jpg', PORTRAIT, '-quality', '95');
    const { path } = await use('change-background', photo, { color: '#2060c0' });
    expect(await describeOf(path)).toBe('JPEG 512x512');
    expect(await mean(path, 'B', '120x120+380+20')).toBeCloseTo(0xc0 / 255, 1);
    expect(await mean(path, 'R', '120x120+380+20')).toBeCloseTo(0x20 / 255, 1);
    expect(await mean(path, 'R', '60x60+195+85')).toBeGreaterThan(0.5);
  });
  it('puts a picture there, cut to cover', async () => {
    const green = await made('green.png', '-size', '900x300', 'xc:#10a040');
    const { path } = await use('change-background', [await sent('file', PORTRAIT), await sent('background', green)]);
    expect(await describeOf(path)).toBe('PNG 512x512');
    expect(await mean(path, 'G', '120x120+380+20')).toBeCloseTo(0xa0 / 255, 1);
  });
  it('takes a colour or a picture, not both', async () => {
    const answer = await callTool(service, 'change-background', [await sent('file', PORTRAIT), await sent('background', PORTRAIT)], {
      color: '#ffffff',
    });
    expect(answer).toMatchObject({ status: 400, error: { code: 'BAD_REQUEST' } });
  });
});

describe('passport-photo', () => {
  it.each([
    ['eu', '413x531'],
    ['us', '600x600'],
    ['cn', '390x567'],
  ])('has the size of %s', async (country, size) => {
    const { path, job } = await use('passport-photo', PORTRAIT, { country });
    expect(job.engine?.name).toBe('u2net and centerface');
    expect(await describeOf(path)).toBe(`JPEG ${size}`);
    expect((await run(CONVERT, [path, '-format', '%x %U', 'info:'])).stdout).toBe('300 PixelsPerInch');
    // Above the head and beside it.
    expect(await mean(path, 'G', '100x10+0+0')).toBeGreaterThan(0.98);
  });
  it('has the head as high as asked for, from its crown on', async () => {
    const { path } = await use('passport-photo', PORTRAIT, { country: 'eu' });
    const { stdout } = await run(CONVERT, [path, '-fuzz', '12%', '-trim', '-format', '%Y', 'info:']);
    // 4 mm at 300 dpi are 47 px.
    expect(Math.abs(Number(stdout) - 47)).toBeLessThan(16);
  });
  it('puts as many as fit on a sheet', async () => {
    const { path } = await use('passport-photo', PORTRAIT, { country: 'eu', sheet: 'true', color: '#d0d8e0' });
    expect(await describeOf(path)).toBe('JPEG 1800x1200');
    // Four across, two down: nearly all of the sheet.
    expect(await mean(path, 'R', '1800x1200+0+0')).toBeLessThan(0.9);
  });
  it('refuses a picture without a face', async () => {
    const answer = await callTool(service, 'passport-photo', `${PHOTOS}/coffee.png`);
    expect(answer.error).toMatchObject({
      code: 'CONVERSION_FAILED',
      message: expect.stringContaining('one face'),
      details: { reason: 'input_limit', limit: 'faces', min: 1, received: 0 },
    });
  });
});

describe('models', () => {
  it('are measured, each in a separate process, on the devices that are there', async () => {
    const { stdout } = await run('scripts/filemill', ['models', 'bench', 'u2netp', 'centerface']);
    expect(stdout).toMatch(/^u2netp\/u2netp\.onnx +cpu +\d+ ms +[1-9]\d* ms +[1-9]\d\d MB$/m);
    expect(stdout).toMatch(/^centerface\/centerface\.onnx +cpu /m);
  });

  it('are switched off where they are not what the manifest says', async () => {
    const all = await readManifest('models/manifest.yaml');
    const states = async (folder: string) => (await findModels(all, [folder], folder)).map(({ model, state }) => [model.id, state]);
    expect(await states(home)).toEqual(all.map(({ id }) => [id, 'missing']));
    await mkdir(join(home, 'u2netp'));
    const path = join(home, 'u2netp/u2netp.onnx');
    await copyFile('.cache/models/u2netp/u2netp.onnx', path);
    expect((await states(home))[0]).toEqual(['u2netp', 'whole']);
    const change = async () => {
      const file = await open(path, 'r+');
      await file.write(Buffer.from('x'), 0, 1, 1_000_000);
      await file.close();
    };
    await change();
    expect((await states(home))[0]).toEqual(['u2netp', 'changed']);
    // Also where the size and the time of the last write are those of before.
    await copyFile('.cache/models/u2netp/u2netp.onnx', path);
    expect((await states(home))[0]).toEqual(['u2netp', 'whole']);
    const { atime, mtime } = await stat(path);
    await change();
    await utimes(path, atime, mtime);
    expect((await states(home))[0]).toEqual(['u2netp', 'changed']);
  });
});
