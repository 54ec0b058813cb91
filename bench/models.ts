/** What models gain over the classical ways on files that were made worse, and these over nothing, and what each costs: photos, speech, and a song. */
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { callTool, outputOf } from '../test/kit/api/tools.ts';
import { CHAPTER, errorRate, readAloud } from '../test/kit/catalog/voices.ts';
import { checkout, type Service, startService } from '../test/kit/roles/service.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';
/** `scripts/setup-photos.ts` brings them for the tests. */
const PHOTOS = ['astronaut', 'chelsea', 'coffee'].map((name) => join(checkout, `.cache/test/photos/${name}.png`));
/** Side of the measured part of each photo, px. */
const SIDE = 192;
const VOICE = CHAPTER[0] ?? '';
const RATE = 48_000;

export async function models(folder: string): Promise<void> {
  const service = await startService();
  try {
    await photos(service, folder);
    await damaged(service, folder);
    await subjects(service, folder);
    await noisyPhotos(service, folder);
    await speech(service, folder);
    await words(service, folder);
    await song(service, folder);
  } finally {
    await service.stop();
  }
}

async function photos(service: Service, folder: string): Promise<void> {
  console.log(`\n| ${PHOTOS.length} photos of ${SIDE} × ${SIDE} pixels | | PSNR, dB | SSIM | s each |\n|---|---|---|---|---|`);
  const whole = await middles(folder);
  for (const scale of [2, 4]) {
    const small = await each(whole, (path, i) =>
      convert(path, join(folder, `small-${i}.png`), '-filter', 'Lanczos', '-resize', `${100 / scale}%`),
    );
    const work = `made ${scale} times smaller, and larger again`;
    const lanczos = (path: string, i: number) =>
      convert(path, join(folder, `lanczos-${i}.png`), '-filter', 'Lanczos', '-resize', `${SIDE}x${SIDE}!`);
    await pictureRow(work, 'Lanczos', whole, small, lanczos);
    for (const model of ['classical', 'realesrgan-x4plus'])
      await pictureRow(work, model, whole, small, tool(service, folder, 'upscale-image', { scale: `${scale}`, model }));
  }
}

/** Noise as of a small sensor. Both tools change the tones too, so SSIM, which is of structure, says more than PSNR. */
async function noisyPhotos(service: Service, folder: string): Promise<void> {
  console.log(`\n| ${PHOTOS.length} photos with noise | | PSNR, dB | SSIM | s each |\n|---|---|---|---|---|`);
  const whole = await middles(folder);
  const noisy = await Promise.all(
    whole.map((path, i) => convert(path, join(folder, `noisy-${i}.png`), '-seed', '7', '-attenuate', '0.9', '+noise', 'Gaussian')),
  );
  await pictureRow('photo', 'nothing', whole, noisy, async (path) => path);
  for (const slug of ['enhance-photo', 'restore-old-photo'])
    for (const model of ['classical', 'realesrgan-x4plus'])
      await pictureRow(slug, model, whole, noisy, tool(service, folder, slug, { model }));
}

/** What only a classical way mends: scratches, dull tones, and what stands in the picture. */
async function damaged(service: Service, folder: string): Promise<void> {
  console.log(`\n| ${PHOTOS.length} photos of ${SIDE} × ${SIDE} pixels | | PSNR, dB | SSIM | s each |\n|---|---|---|---|---|`);
  const whole = await middles(folder);
  const lines = 'line 12,0 30,191 line 160,4 150,186 line 4,100 188,92';
  const kinds: readonly (readonly [string, readonly string[], string, Readonly<Record<string, string>>])[] = [
    ['with three scratches', ['-stroke', '#fcfcfc', '-strokewidth', '2', '-draw', lines], 'restore-old-photo', {}],
    ['with a third of their tones', ['+level', '30%,65%'], 'enhance-photo', {}],
    [
      'with a disc before them',
      ['-fill', '#20c040', '-draw', 'circle 96,96 96,84'],
      'remove-object',
      { x: '82', y: '82', w: '29', h: '29' },
    ],
  ];
  for (const [work, args, slug, fields] of kinds) {
    const worse = await each(whole, (path, i) => convert(path, join(folder, `worse-${i}.png`), ...args));
    await pictureRow(work, 'nothing', whole, worse, async (path) => path);
    await pictureRow(work, slug, whole, worse, tool(service, folder, slug, fields));
  }
}

/** Things of which it is known where they are, before each photo: the masks of U²-Net, large and small, compared with the true ones. */
async function subjects(service: Service, folder: string): Promise<void> {
  console.log('\n| what stands before a photo, 512 × 512 pixels | | share in common (IoU) | s |\n|---|---|---|---|');
  const things = {
    'a leaf with fine teeth':
      'path "M 256,60 L 300,120 290,130 340,180 325,190 370,250 350,255 380,330 300,400 270,470 250,470 240,400 150,340 180,260 160,250 200,180 190,170 230,120 Z"',
    'a ring on a stick': 'path "M 256,90 a 110,110 0 1,0 0.1,0 Z M 256,140 a 60,60 0 1,1 -0.1,0 Z M 246,310 h 20 v 160 h -20 Z"',
    'two discs': 'circle 160,260 160,160 circle 370,280 370,190',
  };
  for (const [name, drawing] of Object.entries(things)) {
    const shape = ['-size', '512x512', 'xc:black', '-fill', 'white', '-draw', drawing];
    const truth = join(folder, 'truth.png');
    await run(CONVERT, [...shape, truth]);
    const texture = ['(', '-size', '512x512', 'plasma:#c04010-#f0b040', '-seed', '4', ')'];
    const scenes = await Promise.all(
      PHOTOS.map(async (photo, i) => {
        const to = join(folder, `scene-${i}.png`);
        await run(CONVERT, [photo, '-resize', '512x512!', '-blur', '0x3', ...texture, truth, '-composite', to]);
        return to;
      }),
    );
    for (const model of ['u2netp', 'u2net']) {
      const from = performance.now();
      const results = await each(scenes, tool(service, folder, 'remove-background', { model }));
      const seconds = (performance.now() - from) / 1000 / results.length;
      const right = await greysOf(truth);
      const shares = await Promise.all(results.map(async (path) => commonShare(right, await greysOf(path, '-alpha', 'extract'))));
      console.log(`| ${name} | ${model} | ${(shares.reduce((a, b) => a + b) / shares.length).toFixed(3)} | ${seconds.toFixed(1)} |`);
    }
  }
}

/** Intersection over union of what is lighter than grey. */
function commonShare(a: Uint8Array, b: Uint8Array): number {
  let [both, either] = [0, 0];
  for (const [i, value] of a.entries()) {
    const [x, y] = [value > 127, (b[i] as number) > 127];
    if (x && y) both++;
    if (x || y) either++;
  }
  return both / either;
}

async function speech(service: Service, folder: string): Promise<void> {
  console.log('\n| 5 s of read speech | | ratio of signal to the rest, dB | s |\n|---|---|---|---|');
  const clean = await samplesOf(VOICE);
  const noises = {
    'white noise': `anoisesrc=c=white:a=0.05:s=7:r=${RATE}`,
    'pink noise': `anoisesrc=c=pink:a=0.1:s=7:r=${RATE}`,
    'two tones that move': `aevalsrc=0.03*sin(5000*t+40*sin(14*t))+0.02*sin(15000*t+9*sin(88*t)):s=${RATE}`,
  };
  for (const [name, source] of Object.entries(noises)) {
    const noisy = join(folder, 'noisy.wav');
    const mix = `[0]aresample=${RATE}[a];${source}[b];[a][b]amix=2:duration=first:normalize=0`;
    await run('ffmpeg', ['-v', 'error', '-y', '-i', VOICE, '-filter_complex', mix, '-ac', '1', noisy]);
    console.log(`| ${name} | nothing | ${ratio(clean, await samplesOf(noisy)).toFixed(1)} | |`);
    for (const model of ['classical', 'deepfilternet3']) {
      const from = performance.now();
      const result = await tool(service, folder, 'noise-reduction', { model })(noisy, 0);
      const seconds = (performance.now() - from) / 1000;
      console.log(`| ${name} | ${model} | ${ratio(clean, await samplesOf(result)).toFixed(1)} | ${seconds.toFixed(1)} |`);
    }
  }
}

/** A voice in the middle, and tones at the sides. */
async function song(service: Service, folder: string): Promise<void> {
  console.log('\n| a voice between two instruments, 5 s | | ratio of signal to the rest, dB | s |\n|---|---|---|---|');
  const path = join(folder, 'song.wav');
  const chord = (base: number) => [1, 2, 3, 4].map((n) => `${(0.1 / n).toFixed(3)}*sin(${2 * n}*PI*${base}*t)`).join('+');
  const sides = `aevalsrc='${chord(130.8)}|${chord(164.8)}':s=${RATE}`;
  const mix = `[0]aresample=${RATE},pan=stereo|c0=c0|c1=c0[a];${sides}[b];[a][b]amix=2:duration=first:normalize=0`;
  await run('ffmpeg', ['-v', 'error', '-y', '-i', VOICE, '-filter_complex', mix, path]);
  const clean = await samplesOf(VOICE);
  console.log(`| vocals | nothing | ${ratio(clean, await samplesOf(path)).toFixed(1)} | |`);
  const from = performance.now();
  const stems = await tool(service, folder, 'vocal-remover', { format: 'wav' })(path, 0);
  const seconds = (performance.now() - from) / 1000;
  await run('unzip', ['-q', '-o', '-d', join(folder, 'stems'), stems]);
  const [vocals = ''] = (await readdir(join(folder, 'stems'))).filter((name) => name.includes('vocals'));
  console.log(
    `| vocals | vocal-remover | ${ratio(clean, await samplesOf(join(folder, 'stems', vocals))).toFixed(1)} | ${seconds.toFixed(1)} |`,
  );
}

/** Words that are wrong, of those that were said. */
async function words(service: Service, folder: string): Promise<void> {
  console.log('\n| speech | quality | words wrong, % | s |\n|---|---|---|---|');
  const said = await readAloud();
  const [recorded, spoken] = [join(folder, 'recorded.flac'), join(folder, 'spoken.wav')];
  const inputs = CHAPTER.flatMap((path) => ['-i', path]);
  await run('ffmpeg', ['-v', 'error', '-y', ...inputs, '-filter_complex', `concat=n=${CHAPTER.length}:v=0:a=1`, recorded]);
  await run('espeak-ng', ['-v', 'en-gb', '-s', '150', '-w', spoken, said]);
  for (const [name, path] of [
    ['recorded (LibriVox)', recorded],
    ['the same words by espeak-ng', spoken],
  ] as const)
    for (const quality of ['fast', 'balanced', 'best']) {
      const from = performance.now();
      const result = await tool(service, folder, 'speech-to-text', { quality, language: 'en' })(path, 0);
      const seconds = (performance.now() - from) / 1000;
      const wrong = 100 * errorRate(await readFile(result, 'utf8'), said);
      console.log(`| ${name} | ${quality} | ${wrong.toFixed(1)} | ${seconds.toFixed(1)} |`);
    }
}

/** The middle of each photo. */
const middles = (folder: string): Promise<readonly string[]> =>
  Promise.all(
    PHOTOS.map((photo, i) =>
      convert(photo, join(folder, `whole-${i}.png`), '-gravity', 'center', '-crop', `${SIDE}x${SIDE}+0+0`, '+repage'),
    ),
  );

type Work = (path: string, index: number) => Promise<string>;

const convert = async (from: string, to: string, ...args: readonly string[]): Promise<string> => {
  await run(CONVERT, [from, ...args, '-depth', '8', to]);
  return to;
};

async function each(paths: readonly string[], work: Work): Promise<readonly string[]> {
  const results: string[] = [];
  for (const [index, path] of paths.entries()) results.push(await work(path, index));
  return results;
}

const tool =
  (service: Service, folder: string, slug: string, fields: Readonly<Record<string, string>>): Work =>
  async (path, index) => {
    const answer = await callTool(service, slug, path, fields);
    const to = join(folder, `result-${index}-${answer.data?.output?.filename}`);
    await writeFile(to, await outputOf(service, answer));
    return to;
  };

/** @param whole what the results are compared with */
async function pictureRow(work: string, how: string, whole: readonly string[], given: readonly string[], make: Work): Promise<void> {
  const from = performance.now();
  const results = await each(given, make);
  const seconds = (performance.now() - from) / 1000 / results.length;
  const pairs = await Promise.all(results.map(async (path, i) => [await greysOf(whole[i] as string), await greysOf(path)] as const));
  const mean = (of: (a: Uint8Array, b: Uint8Array) => number) => pairs.reduce((sum, [a, b]) => sum + of(a, b), 0) / pairs.length;
  console.log(`| ${work} | ${how} | ${mean(psnr).toFixed(1)} | ${mean(ssim).toFixed(3)} | ${seconds.toFixed(1)} |`);
}

async function greysOf(path: string, ...first: readonly string[]): Promise<Uint8Array> {
  const args = [path, ...first, '-colorspace', 'gray', '-depth', '8', 'gray:-'];
  return (await run(CONVERT, args, { encoding: 'buffer', maxBuffer: 1 << 26 })).stdout;
}

const psnr = (a: Uint8Array, b: Uint8Array): number =>
  10 * Math.log10(255 ** 2 / (a.reduce((sum, value, i) => sum + (value - (b[i] as number)) ** 2, 0) / a.length));

/** Structural similarity, of squares of 8 pixels (Wang et al., 2004). */
function ssim(a: Uint8Array, b: Uint8Array): number {
  const [square, steady] = [8, [(0.01 * 255) ** 2, (0.03 * 255) ** 2] as const];
  let [sum, count] = [0, 0];
  for (let top = 0; top + square <= SIDE; top += square / 2)
    for (let left = 0; left + square <= SIDE; left += square / 2) {
      let [ma, mb, aa, bb, ab] = [0, 0, 0, 0, 0];
      for (let i = 0; i < square ** 2; i++) {
        const at = (top + Math.floor(i / square)) * SIDE + left + (i % square);
        const [x, y] = [a[at] as number, b[at] as number];
        ma += x / square ** 2;
        mb += y / square ** 2;
        aa += x ** 2 / square ** 2;
        bb += y ** 2 / square ** 2;
        ab += (x * y) / square ** 2;
      }
      const [va, vb, covariance] = [aa - ma ** 2, bb - mb ** 2, ab - ma * mb];
      sum += ((2 * ma * mb + steady[0]) * (2 * covariance + steady[1])) / ((ma ** 2 + mb ** 2 + steady[0]) * (va + vb + steady[1]));
      count += 1;
    }
  return sum / count;
}

async function samplesOf(path: string): Promise<Int16Array> {
  const args = ['-v', 'error', '-i', path, '-f', 's16le', '-ar', `${RATE}`, '-ac', '1', '-'];
  const { stdout } = await run('ffmpeg', args, { encoding: 'buffer', maxBuffer: 1 << 26 });
  return new Int16Array(stdout.buffer.slice(stdout.byteOffset, stdout.byteOffset + (stdout.length & ~1)));
}

/** How much louder the clean speech is than what differs from it, at its best loudness (SI-SDR; Le Roux et al., 2019), dB. */
function ratio(clean: Int16Array, found: Int16Array): number {
  let [product, power, rest] = [0, 0, 0];
  for (const [i, sample] of clean.entries()) {
    product += sample * (found[i] ?? 0);
    power += sample ** 2;
  }
  const gain = product / power;
  for (const [i, sample] of clean.entries()) rest += ((found[i] ?? 0) - gain * sample) ** 2;
  return 10 * Math.log10((gain ** 2 * power) / rest);
}
