/** What models do on inputs that are made for it, beside what does without them: holes in photos, speech with pauses, and OCR. Programs alone, without the service. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CHAPTER, errorRate, readAloud } from '../test/kit/catalog/voices.ts';
import { checkout } from '../test/kit/roles/service.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';
const PHOTOS = ['astronaut', 'chelsea', 'coffee'].map((name) => join(checkout, `.cache/test/photos/${name}.png`));
/** Side of the measured part of each photo, px. */
const SIDE = 256;
const modelAt = (id: string): string => `--${id}=${join(checkout, '.cache/models', id)}`;

/** @param args of a program of `exec/programs` @returns s */
async function program(name: string, ...args: readonly string[]): Promise<number> {
  const from = performance.now();
  await run(process.execPath, ['--disable-warning=ExperimentalWarning', join(checkout, 'src/exec/programs', name), ...args]);
  return (performance.now() - from) / 1000;
}

export async function ai(folder: string): Promise<void> {
  await holes(folder);
  await pauses(folder);
  await scans(folder);
}

/** A disc and a bar that were drawn into photos, taken away: PSNR of the part with the hole. */
async function holes(folder: string): Promise<void> {
  console.log(
    `\n| ${PHOTOS.length} photos of ${SIDE} × ${SIDE}, what was removed | by | PSNR of the hole, dB | s each |\n|---|---|---|---|`,
  );
  const shapes = {
    'a square of 40': [108, 108, 40, 40],
    'a bar of 12 × 160': [40, 122, 160, 12],
    'a square of 90': [80, 80, 90, 90],
  } as const;
  for (const [name, [x, y, w, h]] of Object.entries(shapes))
    for (const [by, call] of [
      ['classical', ['pictures/retouch.ts', 'fill']],
      ['migan', ['pictures/inpaint.ts', modelAt('migan')]],
    ] as const) {
      let [squares, seconds, samples] = [0, 0, 0];
      for (const [i, photo] of PHOTOS.entries()) {
        const [whole, spotted, result] = ['whole', 'spotted', `result-${by}-${w}`].map((each) => join(folder, `${each}-${i}.pam`)) as [
          string,
          string,
          string,
        ];
        await run(CONVERT, [photo, '-gravity', 'center', '-crop', `${SIDE}x${SIDE}+0+0`, '+repage', '-depth', '8', `pam:${whole}`]);
        await run(CONVERT, [whole, '-fill', '#20c040', '-draw', `rectangle ${x},${y} ${x + w - 1},${y + h - 1}`, `pam:${spotted}`]);
        const [file, ...first] = call;
        seconds += await program(file, ...first, spotted, result, `${x}`, `${y}`, `${w}`, `${h}`);
        const [a, b] = await Promise.all([whole, result].map((path) => samplesIn(path, [x, y, w, h])));
        for (const [at, value] of (a ?? Buffer.alloc(0)).entries()) squares += (value - (b?.[at] ?? 0)) ** 2;
        samples += a?.length ?? 0;
      }
      const psnr = 10 * Math.log10(255 ** 2 / (squares / samples));
      console.log(`| ${name} | ${by} | ${psnr.toFixed(1)} | ${(seconds / PHOTOS.length).toFixed(1)} |`);
    }
}

async function samplesIn(path: string, [x, y, w, h]: readonly [number, number, number, number]): Promise<Buffer> {
  const { stdout } = await run(CONVERT, [path, '-crop', `${w}x${h}+${x}+${y}`, '-depth', '8', 'rgb:-'], {
    encoding: 'buffer',
    maxBuffer: 1 << 28,
  });
  return stdout;
}

/** Sentences with pauses of noise between them. */
async function pauses(folder: string): Promise<void> {
  console.log('\n| 25 s of speech, and between sentences | pauses | words wrong | s |\n|---|---|---|---|');
  const said = await readAloud();
  const kinds = {
    silence: 'anullsrc=r=16000:cl=mono',
    'faint noise': 'anoisesrc=c=brown:a=0.01:s=3:r=16000',
    'loud noise': 'anoisesrc=c=pink:a=0.1:s=3:r=16000',
  };
  for (const [name, source] of Object.entries(kinds)) {
    const raw = join(folder, 'speech.raw');
    const inputs = CHAPTER.flatMap((path) => ['-i', path, '-f', 'lavfi', '-t', '12', '-i', source]);
    const parts = Array.from({ length: CHAPTER.length * 2 }, (_, i) => `[${i}:a]aresample=16000,aformat=channel_layouts=mono[a${i}]`);
    const all = parts.map((_, i) => `[a${i}]`).join('');
    await run('ffmpeg', [
      '-v',
      'error',
      '-y',
      ...inputs,
      '-filter_complex',
      `${parts.join(';')};${all}concat=n=${parts.length}:v=0:a=1`,
      '-f',
      's16le',
      raw,
    ]);
    for (const [how, helpers] of [
      ['heard', []],
      ['cut out', [modelAt('silero-vad')]],
    ] as const) {
      const text = join(folder, `said-${how}.txt`.replace(' ', '-'));
      const seconds = await program('sound/speech.ts', modelAt('whisper-base'), ...helpers, raw, text, 'txt', 'en', '1');
      console.log(
        `| 12 s of ${name} | ${how} | ${(100 * errorRate(await readFile(text, 'utf8'), said)).toFixed(1)} % | ${seconds.toFixed(0)} |`,
      );
    }
  }
}

const ENGLISH = `The quick brown fox jumps over the lazy dog, and then
it rests beside the river for the whole afternoon.
Every reader of typewriters has seen this sentence,
which has all letters of the alphabet in few words.
In 1984 it cost 12.50 a page; today it costs nothing.`;
const CHINESE = `这是一个测试页面，用来检查文字识别。
快速的棕色狐狸跳过懒狗，然后在河边休息。
软件把图片里的中文变成可以编辑的文本。
今天的天气很好，我们去公园散步。`;

/** Pages that are made worse: characters that are wrong, for each that there is. */
async function scans(folder: string): Promise<void> {
  console.log('\n| a page of five lines | in | Tesseract alone | as it is read here | s | s |\n|---|---|---|---|---|---|');
  const changes: Readonly<Record<string, readonly string[]>> = {
    rendered: [],
    'as a photo': ['-blur', '0x1.2', '-distort', 'Perspective', '0,0 30,20 1300,0 1270,0 1300,465 1300,465 0,465 0,440', '-modulate', '85'],
    noisy: ['-attenuate', '0.6', '-seed', '5', '+noise', 'Gaussian'],
    'a quarter turned': ['-rotate', '90'],
    'upside down': ['-rotate', '180'],
    'three quarters turned': ['-rotate', '270'],
    'light on dark, upside down': ['-negate', '-rotate', '180'],
  };
  const texts = { eng: [ENGLISH, 'DejaVu-Sans'], chi_sim: [CHINESE, '/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc'] } as const;
  for (const [language, [text, font]] of Object.entries(texts))
    for (const [name, change] of Object.entries(changes)) {
      const [picture, plain, read] = ['page.png', 'plain', 'read'].map((each) => join(folder, each)) as [string, string, string];
      await run(CONVERT, [
        '-size',
        '1300x465',
        'xc:white',
        '-font',
        font,
        '-pointsize',
        '36',
        '-annotate',
        '+60+90',
        text,
        ...change,
        picture,
      ]);
      const from = performance.now();
      await run('tesseract', [picture, plain, '-l', language], { env: { ...process.env, OMP_THREAD_LIMIT: '1' } });
      const alone = (performance.now() - from) / 1000;
      const models = [modelAt('page-orientation'), modelAt('ppocr-v4')];
      const here = await program('pdf/read.ts', `--convert=${CONVERT}`, ...models, picture, read, join(folder, 'scratch'), language, 'txt');
      const rates = await Promise.all([plain, read].map(async (path) => charactersWrong(await readFile(`${path}.txt`, 'utf8'), text)));
      const [a, b] = rates.map((rate) => `${(100 * rate).toFixed(1)} %`);
      console.log(`| ${name} | ${language} | ${a} | ${b} | ${alone.toFixed(1)} | ${here.toFixed(1)} |`);
    }
}

/** Characters that were left out, put in or mistaken, for each that there is (Levenshtein's distance); white space does not count. */
function charactersWrong(read: string, there: string): number {
  const [a, b] = [read, there].map((text) => [...text.replace(/\s/g, '')]) as [string[], string[]];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, sign] of a.entries()) {
    const next = [i + 1];
    for (const [j, other] of b.entries())
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (sign === other ? 0 : 1)));
    row = next;
  }
  return Math.min(1, (row.at(-1) ?? 0) / b.length);
}
