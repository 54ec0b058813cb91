/** Programs around models that are too large to have here, with tiny graphs of the same signatures: tiles, colour spaces, spectra, joins and bounds. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { type Picture, type Plane, plane, readPam, writePam } from '../../../../src/exec/programs/pictures/planes/picture.ts';
import { ddcolor, lama, modelFolder, scunet, spleeter } from '../../../kit/exec/tiny-models.ts';

const run = promisify(execFile);
const root = mkdtempSync(join(tmpdir(), 'filemill-around-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
const fresh = (extension: string): string => join(root, `${++count}.${extension}`);

async function program(name: string, ...args: readonly string[]): Promise<Record<string, unknown>> {
  const { stdout } = await run(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    resolve('src/exec/programs', name),
    ...args,
  ]).catch((error: { stdout: string; stderr: string }) => {
    if (!error.stdout.includes('"ok":false')) throw error;
    return error;
  });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}');
}

/** @param of values of the channels, 0 to 1, by place */
function picture(width: number, height: number, of: (x: number, y: number) => readonly number[], maxval = 255): Picture {
  const channels = of(0, 0).length;
  const planes = Array.from({ length: channels }, (_, c) =>
    plane(
      width,
      height,
      Float32Array.from({ length: width * height }, (_, i) => of(i % width, Math.floor(i / width))[c] ?? 0),
    ),
  );
  return { width, height, colours: planes, alpha: undefined, maxval };
}

async function through(name: string, folder: string, source: Picture, ...more: readonly string[]) {
  const [input, output] = [fresh('pam'), fresh('pam')];
  writePam(input, source);
  const answer = await program(name, folder, input, output, ...more);
  return { answer, result: answer['ok'] === true ? readPam(output) : undefined };
}

const at = ({ data, width }: Plane, x: number, y: number): number => data[y * width + x] as number;

describe('a photo that is coloured', () => {
  const levels = (maxval: number) => picture(300, 200, (x, y) => [Math.round(((x + y) / 498) * maxval) / maxval], maxval);

  it.each([
    ['8 bits, by a model of 16-bit numbers', 255, 'float16'],
    ['16 bits, by a model of 32-bit numbers', 65_535, 'float32'],
  ] as const)('keeps its lightness bit for bit: %s', async (_, maxval, type) => {
    const folder = `--ddcolor-tiny=${modelFolder(root, `ddcolor-${type}`, { 'ddcolor-tiny-fp16.onnx': ddcolor(type) })}`;
    const source = levels(maxval);
    const { answer, result } = await through('pictures/colourise.ts', folder, source);
    expect(answer).toEqual({ ok: true, warnings: [] });
    if (result === undefined) throw new Error('no result');
    const [red, green, blue] = result.colours as unknown as [Plane, Plane, Plane];
    const grey = source.colours[0] as Plane;
    let [coloured, other] = [0, 0];
    for (let i = 0; i < grey.data.length; i++) {
      const [r, g, b] = [red, green, blue].map(({ data }) => Math.round((data[i] as number) * maxval)) as [number, number, number];
      if (Math.round(0.299 * r + 0.587 * g + 0.114 * b) !== Math.round((grey.data[i] as number) * maxval)) other++;
      if (b > g) coloured++;
    }
    expect(other).toBe(0);
    // b is -40 everywhere but where black and white leave no room for it, and a grows with the lightness.
    expect(coloured / grey.data.length).toBeGreaterThan(0.95);
    expect(at(red, 200, 150) - at(green, 200, 150)).toBeGreaterThan(at(red, 40, 30) - at(green, 40, 30));
  });

  it('that had colours gets others, and is told', async () => {
    const folder = `--ddcolor-tiny=${modelFolder(root, 'ddcolor-again', { 'ddcolor-tiny-fp16.onnx': ddcolor() })}`;
    const { answer } = await through(
      'pictures/colourise.ts',
      folder,
      picture(40, 30, () => [0.9, 0.2, 0.1]),
    );
    expect(answer).toMatchObject({ ok: true, warnings: [{ code: 'recoloured' }] });
  });
});

describe('a hole that LaMa fills', () => {
  const folder = `--lama=${modelFolder(root, 'lama', { 'lama_fp32.onnx': lama() })}`;
  const scene = picture(900, 700, (x, y) => [x / 900, 0.1, y / 700]);

  it('is filled in its place, and nothing else changes', async () => {
    const { result } = await through('pictures/inpaint.ts', folder, scene, '500', '300', '60', '40');
    const before = readAgain(scene);
    let [changed, worst] = [0, 0];
    for (const [channel, { data }] of (result?.colours ?? []).entries())
      for (let i = 0; i < data.length; i++) {
        const [x, y] = [i % 900, Math.floor(i / 900)];
        const isHole = x >= 500 && x < 560 && y >= 300 && y < 340;
        if (!isHole && data[i] !== before.colours[channel]?.data[i]) changed++;
        if (isHole) worst = Math.max(worst, Math.abs((data[i] as number) - ([0, 0.8, 0][channel] ?? 0)));
      }
    expect(changed).toBe(0);
    expect(worst).toBeLessThan(0.01);
  });

  it('as large as a picture that is smaller than the model, in grey, stays grey', async () => {
    const small = picture(50, 40, (x) => [x / 50]);
    const { result } = await through('pictures/inpaint.ts', folder, small, '10', '10', '20', '10');
    expect(result?.colours).toHaveLength(1);
    expect(at(result?.colours[0] as Plane, 20, 15)).toBeCloseTo(0.8 / 3, 1);
  });

  it('of several strokes in a mask is filled stroke by stroke', async () => {
    const mask = fresh('pam');
    const strokes = [
      [100, 100],
      [800, 100],
      [450, 600],
    ] as const;
    writePam(
      mask,
      picture(900, 700, (x, y) => [strokes.some(([left, top]) => x >= left && x < left + 20 && y >= top && y < top + 20) ? 1 : 0]),
    );
    const { result } = await through('pictures/inpaint.ts', folder, scene, mask);
    for (const [left, top] of strokes) expect(at(result?.colours[1] as Plane, left + 10, top + 10)).toBeCloseTo(0.8, 1);
  });

  it.each([
    ['nothing', ['0', '0', '0', '0'], { limit: 'pixels to remove', received: 0, min: 1 }],
    ['more than half', ['0', '0', '900', '400'], { limit: 'pixels to remove', received: 360_000, max: 315_000 }],
  ])('that is %s is refused', async (_, hole, details) => {
    const { answer } = await through('pictures/inpaint.ts', folder, scene, ...hole);
    expect(answer).toMatchObject({ ok: false, reason: 'input_limit', details });
  });
});

const readAgain = (source: Picture): Picture => {
  const path = fresh('pam');
  writePam(path, source);
  return readPam(path);
};

describe('a photo that SCUNet cleans', () => {
  const folder = `--scunet-psnr=${modelFolder(root, 'scunet', { 'scunet-color-real-psnr.onnx': scunet() })}`;

  it.each([
    ['smaller than a tile', 50, 40],
    ['of several tiles', 700, 300],
  ])('%s comes back in its size, without seams', async (_, width, height) => {
    const { result } = await through(
      'pictures/clean.ts',
      folder,
      picture(width, height, (x, y) => [x / width, y / height, 0.5]),
    );
    expect([result?.width, result?.height, result?.colours.length]).toEqual([width, height, 3]);
    let worst = 0;
    for (const [channel, { data }] of (result?.colours ?? []).entries())
      for (let i = 0; i < data.length; i++) {
        const wanted = [(i % width) / width, Math.floor(i / width) / height, 0.5][channel] ?? 0;
        worst = Math.max(worst, Math.abs((data[i] as number) - wanted / 2));
      }
    expect(worst).toBeLessThan(0.01);
  });

  it('in grey stays grey', async () => {
    const { result } = await through(
      'pictures/clean.ts',
      folder,
      picture(80, 60, () => [0.6]),
    );
    expect(result?.colours).toHaveLength(1);
    expect(at(result?.colours[0] as Plane, 40, 30)).toBeCloseTo(0.3, 2);
  });
});

describe('a song that Spleeter separates', () => {
  const RATE = 44_100;
  const { vocals, accompaniment } = spleeter(200);
  const folder = `--spleeter-2stems=${modelFolder(root, 'spleeter', { 'vocals.fp16.onnx': vocals, 'accompaniment.fp16.onnx': accompaniment })}`;
  /** Low on the left, high in the middle, and higher than the models hear on the right. */
  const tones = (i: number): readonly [number, number] => {
    const tone = (hertz: number, loud: number) => loud * Math.sin((2 * Math.PI * hertz * i) / RATE);
    return [tone(440, 0.3) + tone(5000, 0.2), tone(5000, 0.2) + tone(15_000, 0.1)];
  };
  const samplesOf = (bytes: Buffer): Int16Array => new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);

  function song(seconds: number): { readonly path: string; readonly samples: Int16Array } {
    const samples = new Int16Array(Math.round(seconds * RATE) * 2);
    for (let i = 0; i < samples.length / 2; i++)
      for (const [c, value] of tones(i).entries()) samples[2 * i + c] = Math.round(value * 32_767);
    const path = fresh('raw');
    writeFileSync(path, Buffer.from(samples.buffer));
    return { path, samples };
  }

  /** How much of a tone is there. */
  function toneIn(samples: Int16Array, channel: 0 | 1, hertz: number): number {
    let [cosine, sine] = [0, 0];
    for (let i = 0; i < samples.length / 2; i++) {
      const angle = (2 * Math.PI * hertz * i) / RATE;
      const value = samples[2 * i + channel] as number;
      cosine += value * Math.cos(angle);
      sine += value * Math.sin(angle);
    }
    return (2 * Math.hypot(cosine, sine)) / (samples.length / 2) / 32_767;
  }

  it.each([
    ['shorter than a window', 0.05],
    ['longer than a block', 13],
  ])('%s: both results together are the song, sample by sample', async (_, seconds) => {
    const { path, samples } = song(seconds);
    const voice = fresh('raw');
    await program('sound/stems.ts', folder, path, voice);
    const [a, b] = [samplesOf(readFileSync(voice)), samplesOf(readFileSync(path))];
    expect([a.length, b.length]).toEqual([samples.length, samples.length]);
    expect(samples.findIndex((sample, i) => (a[i] as number) + (b[i] as number) !== sample)).toBe(-1);
  });

  it('each tone is where the models say, on its own side, up to the joins', async () => {
    const { path } = song(13);
    const voice = fresh('raw');
    await program('sound/stems.ts', folder, path, voice);
    const [sung, rest] = [samplesOf(readFileSync(voice)), samplesOf(readFileSync(path))];
    expect(toneIn(sung, 0, 440)).toBeCloseTo(0.3, 2);
    expect(toneIn(rest, 0, 440)).toBeLessThan(0.003);
    expect(toneIn(sung, 1, 440)).toBeLessThan(0.003);
    for (const channel of [0, 1] as const) {
      expect(toneIn(rest, channel, 5000)).toBeCloseTo(0.2, 2);
      expect(toneIn(sung, channel, 5000)).toBeLessThan(0.003);
    }
    // A second around the join of two blocks has no step.
    const join = Math.round((512 * 1024 - 3072 - RATE / 2) * 2);
    expect(toneIn(sung.slice(join, join + 2 * RATE), 0, 440)).toBeCloseTo(0.3, 2);
  });
});
