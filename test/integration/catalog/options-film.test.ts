/** `audio_track`, `burn_subtitles` and `fit` of films, through HTTP, judged by ffprobe, by samples and by pixels. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { decode } from '../../kit/judges/pictures/pixels.ts';
import { colourAt } from '../../kit/judges/pictures/quarters.ts';
import { convert } from '../../kit/roles/service.ts';
import { conversionGround } from './ground.ts';

const run = promisify(execFile);
const ground = conversionGround('film');
const ffmpeg = (...args: readonly string[]) => run('ffmpeg', ['-v', 'error', '-y', ...args]);
const codes = (job: { warnings: readonly { code: string }[] }) => job.warnings.map(({ code }) => code);
const x264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'];

let home: string;
/** Four seconds of black, 320 × 180 px, with tones of 400 and 1,000 Hz, and two tracks of subtitles: words from 1 s to 2 s, and from 2 s to 4 s. */
let film: string;
beforeAll(async () => {
  home = await ground.aFolder();
  film = join(home, 'film.mkv');
  const [first, second] = [join(home, 'first.srt'), join(home, 'second.srt')];
  await writeFile(first, '1\n00:00:01,000 --> 00:00:02,000\nMMMMMMMM\n');
  await writeFile(second, '1\n00:00:02,000 --> 00:00:04,000\nWWWWWWWW\n');
  const tones = [400, 1000].flatMap((hertz) => ['-f', 'lavfi', '-i', `sine=frequency=${hertz}:sample_rate=48000:duration=4`]);
  const maps = ['0:v', '1:a', '2:a', '3', '4'].flatMap((map) => ['-map', map]);
  const black = ['-f', 'lavfi', '-i', 'color=black:s=320x180:r=10:d=4'];
  await ffmpeg(...black, ...tones, '-i', first, '-i', second, ...maps, ...x264, '-c:a', 'aac', '-c:s', 'srt', film);
});

async function streams(path: string, type: 'a' | 's' | 'v'): Promise<number> {
  const { stdout } = await run('ffprobe', [
    '-v',
    'error',
    '-select_streams',
    type,
    '-show_entries',
    'stream=index',
    '-of',
    'csv=p=0',
    path,
  ]);
  return stdout.split('\n').filter(Boolean).length;
}

/** How often a second from its middle changes its sign, beyond noise. */
async function hertzOf(path: string): Promise<number> {
  const raw = ['-i', path, '-ss', '1', '-t', '1', '-map', '0:a:0', '-ac', '1', '-ar', '48000', '-f', 's16le', '-'];
  const { stdout } = await run('ffmpeg', ['-v', 'error', ...raw], { encoding: 'buffer', maxBuffer: 1 << 24 });
  let crossings = 0;
  let isBelow = false;
  for (let at = 0; at + 2 <= stdout.length; at += 2) {
    const sample = stdout.readInt16LE(at);
    if (Math.abs(sample) < 500 || sample < 0 === isBelow) continue;
    isBelow = sample < 0;
    crossings++;
  }
  return Math.round(crossings / 2 / (stdout.length / 2 / 48_000));
}

async function frameAt(path: string, second: number) {
  const still = join(await ground.aFolder(), 'still.png');
  await ffmpeg('-ss', `${second}`, '-i', path, '-frames:v', '1', '-update', '1', still);
  const [picture] = await decode(still, 'png');
  if (picture === undefined) throw new Error('nothing was decoded');
  return picture;
}

/** Pixels of the lower third that are no longer black. */
async function wordsAt(path: string, second: number): Promise<number> {
  const { width, height, pixels } = await frameAt(path, second);
  let white = 0;
  for (let at = Math.floor(height * 0.66) * width * 4; at < pixels.length; at += 4) if ((pixels[at] ?? 0) > 100) white++;
  return white;
}

describe('audio_track', () => {
  it.each(['mp4', 'mkv', 'avi', 'mp3', 'flac'])('is the one that a %s keeps', async (target) => {
    for (const [audio_track, hertz] of [
      ['1', 400],
      ['2', 1000],
    ] as const) {
      const { path, job } = await ground.to(film, target, { audio_track });
      expect(await streams(path, 'a')).toBe(1);
      expect(Math.abs((await hertzOf(path)) - hertz)).toBeLessThan(10);
      expect(job.warnings.filter(({ code, message }) => code === 'property_lost' && message.includes('sound'))).toEqual([]);
    }
  });

  it('that the recording does not have is refused with what it has', async () => {
    const { status, error } = await convert(ground.url, film, 'mp4', { audio_track: '3' });
    expect([status, error?.code, error?.details['option']]).toEqual([400, 'INVALID_OPTION', 'audio_track']);
    expect(error?.message).toBe('The recording has 2 audio tracks; audio_track is 3.');
  });

  it('are all where none is named', async () => expect(await streams((await ground.to(film, 'mp4')).path, 'a')).toBe(2));
});

describe('burn_subtitles', () => {
  it.each(['mp4', 'webm', 'mkv', 'avi'])('draws the words of a track into the frames of a %s at their time', async (target) => {
    const { path, job } = await ground.to(film, target, { burn_subtitles: '1' });
    expect(await wordsAt(path, 0.5)).toBe(0);
    expect(await wordsAt(path, 1.5)).toBeGreaterThan(60);
    expect(await wordsAt(path, 2.5)).toBe(0);
    const other = await ground.to(film, target, { burn_subtitles: '2' });
    expect(await wordsAt(other.path, 1.5)).toBe(0);
    expect(await wordsAt(other.path, 3.5)).toBeGreaterThan(60);
    expect(codes(job)).not.toContain('property_lost');
  });

  it('keeps the other track beside them', async () => {
    const { path } = await ground.to(film, 'mp4', { burn_subtitles: '1' });
    expect(await streams(path, 's')).toBe(1);
  });

  it('draws them where they are in a part of a film', async () => {
    const { path } = await ground.to(film, 'mp4', { burn_subtitles: '1', start_time: '1.5', end_time: '3' });
    expect(await wordsAt(path, 0.2)).toBeGreaterThan(60);
    expect(await wordsAt(path, 0.8)).toBe(0);
  });

  it('draws those that are pictures', async () => {
    const disc = join(home, 'disc.mkv');
    await ffmpeg('-i', film, '-map', '0:v', '-map', '0:a:0', '-c', 'copy', disc);
    const pictures = join(home, 'pictures.sup');
    await writeFile(pictures, presentation());
    const both = join(home, 'both.mkv');
    // The first of them is shown at nothing otherwise.
    await ffmpeg('-i', disc, '-itsoffset', '1', '-f', 'sup', '-i', pictures, '-map', '0', '-map', '1', '-c', 'copy', both);
    const { path } = await ground.to(both, 'mp4', { burn_subtitles: '1' });
    expect(await wordsAt(path, 0.5)).toBe(0);
    expect(await wordsAt(path, 1.5)).toBeGreaterThan(1000);
    expect(await wordsAt(path, 3)).toBe(0);
    expect(await streams(path, 'a')).toBe(1);
  });

  it('that the recording does not have are refused with what it has', async () => {
    const { status, error } = await convert(ground.url, film, 'mp4', { burn_subtitles: '3' });
    expect([status, error?.code]).toEqual([400, 'INVALID_OPTION']);
    expect(error?.message).toBe('The recording has 2 subtitle tracks; burn_subtitles is 3.');
  });
});

/** Subtitles of a Blu-ray: a white bar of 200 × 20 px near the bottom of 320 × 180, from 1 s to 2 s. (US 2009/0185789 A1) */
function presentation(): Buffer {
  const segment = (seconds: number, type: number, ...bytes: readonly number[]) => {
    const head = Buffer.alloc(13);
    head.write('PG', 0, 'latin1');
    head.writeUInt32BE(seconds * 90_000, 2);
    head.writeUInt8(type, 10);
    head.writeUInt16BE(bytes.length, 11);
    return Buffer.concat([head, Buffer.from(bytes)]);
  };
  const two = (value: number) => [value >> 8, value & 255];
  const window = [0, ...two(60), ...two(150), ...two(200), ...two(20)];
  const line = [0, 0xc0, 200, 1, 0, 0];
  const runs = Array.from({ length: 20 }, () => line).flat();
  const size = runs.length + 4;
  return Buffer.concat([
    segment(1, 0x16, ...two(320), ...two(180), 0x10, ...two(0), 0x80, 0, 0, 1, ...two(0), 0, 0, ...two(60), ...two(150)),
    segment(1, 0x17, 1, ...window),
    segment(1, 0x14, 0, 0, 1, 235, 128, 128, 255),
    segment(1, 0x15, ...two(0), 0, 0xc0, 0, ...two(size), ...two(200), ...two(20), ...runs),
    segment(1, 0x80),
    segment(2, 0x16, ...two(320), ...two(180), 0x10, ...two(1), 0, 0, 0, 0),
    segment(2, 0x17, 1, ...window),
    segment(2, 0x80),
  ]);
}

describe('fit', () => {
  /** Red on the left, green in the middle, blue on the right: 300 × 100 px. */
  const striped = async (name: string, ...encode: readonly string[]) => {
    const path = join(home, name);
    const stripes = "nullsrc=s=300x100:r=5:d=1,format=gbrp,geq=r='255*lt(X,100)':g='255*between(X,100,199)':b='255*gt(X,199)'";
    await ffmpeg('-f', 'lavfi', '-i', stripes, ...encode, path);
    return path;
  };
  const COLOURS = { red: [255, 0, 0], green: [0, 255, 0], blue: [0, 0, 255], black: [0, 0, 0] } as const;
  async function looks(path: string, points: Readonly<Record<string, readonly [number, number]>>) {
    const picture = await frameAt(path, 0);
    expect([picture.width, picture.height]).toEqual([100, 100]);
    for (const [name, [x, y]] of Object.entries(points)) {
      const wanted = COLOURS[name as keyof typeof COLOURS];
      const found = colourAt(picture, x, y);
      expect(Math.max(...found.map((value, at) => Math.abs(value - (wanted[at] ?? 0)))), `${name}: ${found}`).toBeLessThan(40);
    }
  }

  it.each(['mp4', 'webm', 'gif'])('fills, covers or contains 100 × 100 px of a %s', async (target) => {
    const film = await striped('striped.mp4', ...x264);
    const sides = { video_width: '100', video_height: '100' };
    const spread = { red: [0.1, 0.1], green: [0.5, 0.5], blue: [0.9, 0.9] } as const;
    await looks((await ground.to(film, target, sides)).path, spread);
    await looks((await ground.to(film, target, { ...sides, fit: 'fill' })).path, spread);
    await looks((await ground.to(film, target, { ...sides, fit: 'cover' })).path, { green: [0.1, 0.1] });
    await looks((await ground.to(film, target, { ...sides, fit: 'contain' })).path, {
      black: [0.1, 0.1],
      red: [0.1, 0.5],
      blue: [0.9, 0.5],
    });
  });

  it('has no effect on one side, and the client is told', async () => {
    const { job } = await ground.to(await striped('one.mp4', ...x264), 'mp4', { video_width: '100', fit: 'cover' });
    expect(job.warnings.map(({ message }) => message)).toContain('The option fit has no effect without both a width and a height.');
  });

  it.each(['png', 'webp', 'bmp', 'jp2', 'jpg'])('fits a picture into both sides of a %s', async (target) => {
    const picture = await striped('striped.png', '-frames:v', '1', '-update', '1');
    const sides = { img_resize_w: '100', img_resize_h: '100' };
    await looks((await ground.to(picture, target, { ...sides, fit: 'cover' })).path, { green: [0.5, 0.1] });
    const background = { background: '#000000' };
    const bars = target === 'png' || target === 'webp' ? {} : { black: [0.1, 0.1] as const };
    await looks((await ground.to(picture, target, { ...sides, ...background, fit: 'contain' })).path, { red: [0.1, 0.5], ...bars });
  });
});
