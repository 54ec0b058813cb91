/** Each tool for sound and video over HTTP, judged by tones and colours over time, by packets, and by what GIF's headers say. */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SILENT } from '../../../src/catalog/engines/media/ffmpeg/containers.ts';
import { wordsOf } from '../../../src/catalog/options/fields.ts';
import { allowed } from '../../../src/catalog/options/options.ts';
import { SOUNDS, VIDEOS } from '../../../src/catalog/tool-families/media.ts';
import { tool as extraction } from '../../../src/catalog/tools/audio-video/extract-audio-from-video.ts';
import { callTool, outputOf, type Sent } from '../../kit/api/tools.ts';
import { PITCHES, sceneOf } from '../../kit/catalog/scene.ts';
import { fixtures } from '../../kit/fixtures/media/media.ts';
import { fixtures as pictures } from '../../kit/fixtures/pictures/images.ts';
import { photo, photoPng } from '../../kit/fixtures/pictures/photos.ts';
import { expectQuarters } from '../../kit/judges/pictures/quarters.ts';
import type { Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

/** Those that can have sound beside the picture. */
const SOUNDING = VIDEOS.filter((format) => !SILENT.has(format));
const run = promisify(execFile);
type Fields = Readonly<Record<string, string>>;

let service: Pick<Service, 'url'>;
let home: string;
/** Six seconds of 96 × 64 px at 10 frames a second: a colour and a tone each second, a key frame too. */
let film: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-tools-'));
  service = await sharedService();
  film = await aFilm('film.mp4');
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

const ffmpeg = (...args: readonly string[]) => run('/usr/bin/ffmpeg', ['-v', 'error', '-y', ...args]);
const bytesOf = async (...args: readonly string[]) =>
  (await run('/usr/bin/ffmpeg', ['-v', 'error', ...args, 'pipe:1'], { encoding: 'buffer', maxBuffer: 1 << 28 })).stdout;

const COLOURS = {
  red: [220, 20, 20],
  green: [20, 160, 20],
  blue: [20, 20, 220],
  white: [235, 235, 235],
  yellow: [225, 225, 20],
  magenta: [220, 20, 220],
  black: [0, 0, 0],
} as const;
type Name = keyof typeof COLOURS;
const ALL: readonly Name[] = ['red', 'green', 'blue', 'white', 'yellow', 'magenta'];
const TONES = [330, 480, 700, 1070, 1510, 2250] as const;

interface Shape {
  readonly size?: string;
  readonly fps?: number;
  readonly colours?: readonly Name[];
  /** Hz; none: no sound at all. */
  readonly tones?: readonly number[];
  readonly more?: readonly string[];
}

/** A second of each colour and each tone. */
async function aFilm(
  name: string,
  { size = '96x64', fps = 10, colours = ALL, tones = TONES.slice(0, colours.length), more = [] }: Shape = {},
) {
  const path = join(await mkdtemp(join(home, 'film-')), name);
  const hex = (colour: Name) => COLOURS[colour].map((part) => part.toString(16).padStart(2, '0')).join('');
  const inputs = [
    ...colours.flatMap((colour) => ['-f', 'lavfi', '-i', `color=c=0x${hex(colour)}:s=${size}:r=${fps}:d=1`]),
    ...tones.flatMap((tone) => ['-f', 'lavfi', '-i', `sine=frequency=${tone}:sample_rate=48000:duration=1`]),
  ];
  const [shown, heard] = [colours, tones].map(({ length }) => Array.from({ length }, (_, place) => place)) as [number[], number[]];
  const graph = [
    `${shown.map((place) => `[${place}:v]`).join('')}concat=n=${shown.length}[v]`,
    ...(heard.length === 0
      ? []
      : [`${heard.map((place) => `[${place + shown.length}:a]`).join('')}concat=n=${heard.length}:v=0:a=1,volume=3[a]`]),
  ].join(';');
  const maps = ['-map', '[v]', ...(heard.length === 0 ? [] : ['-map', '[a]'])];
  await ffmpeg(...inputs, '-filter_complex', graph, ...maps, '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', `${fps}`, ...more, path);
  return path;
}

/** One frame a second, and no sound. */
async function long(seconds: number): Promise<string> {
  const path = join(home, `${seconds} s.mp4`);
  await ffmpeg('-f', 'lavfi', '-i', `color=red:s=96x64:r=1:d=${seconds}`, '-pix_fmt', 'yuv420p', path);
  return path;
}

/** @returns the path of what a tool made, and its job */
async function made(slug: string, files: Sent | readonly Sent[], fields: Fields = {}) {
  const answer = await callTool(service, slug, files, fields);
  const bytes = await outputOf(service, answer);
  const path = join(await mkdtemp(join(home, 'made-')), answer.data?.output?.filename ?? 'none');
  await writeFile(path, bytes);
  return { path, bytes, warnings: (answer.data?.warnings ?? []).map(({ code }) => code) };
}
const refusal = async (slug: string, files: Sent | readonly Sent[], fields: Fields = {}) => {
  const { status, error } = await callTool(service, slug, files, fields);
  return { status, code: error?.code, ...error?.details };
};

interface Probed {
  readonly format: { readonly duration: string; readonly bit_rate?: string; readonly format_name: string };
  readonly streams: readonly {
    readonly codec_type: string;
    readonly codec_name: string;
    readonly avg_frame_rate: string;
    readonly nb_read_frames: string;
    readonly width?: number;
    readonly height?: number;
  }[];
}
async function probe(path: string): Promise<Probed> {
  const { stdout } = await run('/usr/bin/ffprobe', ['-v', 'error', '-of', 'json', '-count_frames', '-show_format', '-show_streams', path]);
  return JSON.parse(stdout) as Probed;
}
const secondsOf = async (path: string): Promise<number> => Number((await probe(path)).format.duration);
const codecsOf = async (path: string) => (await probe(path)).streams.map(({ codec_name }) => codec_name);

const RATE = 8000;
const samplesOf = async (path: string, map = '0:a:0') => bytesOf('-i', path, '-map', map, '-ac', '1', '-ar', `${RATE}`, '-f', 's16le');

/** The pitch at each moment, 0 where it is silent. (Goertzel, 1958) */
async function tonesAt(path: string, ...moments: readonly number[]): Promise<number[]> {
  const sound = await samplesOf(path);
  return moments.map((moment) => {
    const at = Math.max(0, Math.round((moment - 0.04) * RATE));
    const samples = Array.from({ length: 0.08 * RATE }, (_, place) =>
      (at + place) * 2 + 2 <= sound.length ? sound.readInt16LE((at + place) * 2) : 0,
    );
    const powers = PITCHES.map((pitch) => {
      const coefficient = 2 * Math.cos((2 * Math.PI * pitch) / RATE);
      let [last, before] = [0, 0];
      for (const sample of samples) [last, before] = [sample + coefficient * last - before, last];
      return Math.sqrt(Math.max(0, last ** 2 + before ** 2 - coefficient * last * before)) / samples.length;
    });
    return Math.max(...powers) < 200 ? 0 : (PITCHES[powers.indexOf(Math.max(...powers))] ?? 0);
  });
}
const soundSeconds = async (path: string): Promise<number> => (await samplesOf(path)).length / 2 / RATE;

const SIDE = 16;
/** Every frame, 16 × 16 px, three bytes each. @param fps so many a second, as a player shows them, instead of as they are stored */
async function framesOf(path: string, fps?: number): Promise<Buffer[]> {
  const raw = await bytesOf(
    '-i',
    path,
    '-map',
    '0:v:0',
    '-vsync',
    'passthrough',
    '-vf',
    `${fps === undefined ? '' : `fps=${fps},`}scale=${SIDE}:${SIDE}:flags=area`,
    '-pix_fmt',
    'rgb24',
    '-f',
    'rawvideo',
  );
  return Array.from({ length: raw.length / (SIDE * SIDE * 3) }, (_, place) =>
    raw.subarray(place * SIDE * SIDE * 3, (place + 1) * SIDE * SIDE * 3),
  );
}
function nameAt(frame: Buffer | undefined, x = 0.5, y = 0.5): Name | undefined {
  const at = (Math.floor(y * SIDE) * SIDE + Math.floor(x * SIDE)) * 3;
  const far = (name: Name) => Math.hypot(...COLOURS[name].map((part, place) => part - (frame?.[at + place] ?? 999)));
  return (Object.keys(COLOURS) as Name[]).find((name) => far(name) < 60);
}
/** Runs of one colour in the middle of the picture, and how many frames each has. */
async function storyOf(path: string): Promise<[Name | undefined, number][]> {
  const story: [Name | undefined, number][] = [];
  for (const name of (await framesOf(path)).map((frame) => nameAt(frame))) {
    const last = story.at(-1);
    if (last?.[0] === name && last !== undefined) last[1]++;
    else story.push([name, 1]);
  }
  return story;
}
/** A hash of each packet as it lies in the file. @param kind `v`, `a` or `s` */
async function packetsOf(path: string, kind: string): Promise<string[]> {
  const text = (await bytesOf('-i', path, '-map', `0:${kind}`, '-c', 'copy', '-f', 'framemd5')).toString();
  return text
    .split('\n')
    .filter((line) => /^\d/.test(line))
    .map((line) => line.split(',')[5]?.trim() ?? '');
}
const DAMAGED = (name: string): Sent => ({
  name,
  bytes: Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypisom\0\0\0\0isommp41'), Buffer.alloc(3000, 7)]),
});

/** Two seconds, a tone and a picture for each half. */
const FIXTURE = 'cut here';
const { tones: HEARD } = sceneOf(FIXTURE);
const fixturesMade = new Map<string, Promise<string>>();
function fixture(format: string): Promise<string> {
  const made = fixturesMade.get(format) ?? mkdtemp(join(home, 'fixture-')).then((folder) => fixtures[format]?.(FIXTURE, folder) ?? '');
  fixturesMade.set(format, made);
  return made;
}

describe('audio-cutter', () => {
  it.concurrent.each(SOUNDS.map((format) => [format]))('keeps the stretch that was asked for of a %s, in its codec', async (format) => {
    const source = await fixture(format);
    const { path } = await made('audio-cutter', source, { start_time: '0.7', end_time: '1.6' });
    expect(path.endsWith(format === 'amr' ? '.mp3' : `.${format}`), path).toBe(true);
    expect(await soundSeconds(path)).toBeCloseTo(0.9, 0.7);
    expect(await tonesAt(path, 0.12, 0.55, 0.85)).toEqual([HEARD[1], HEARD[2], HEARD[3]]);
    if (format !== 'amr') expect(await codecsOf(path)).toEqual(await codecsOf(source));
  });

  it.concurrent.each(SOUNDS.map((format) => [format]))('takes packets of a %s as they are when it may be fast', async (format) => {
    const source = await fixture(format);
    const { path, warnings } = await made('audio-cutter', source, { start_time: '0.7', end_time: '1.6', mode: 'fast' });
    const seconds = await soundSeconds(path);
    expect(seconds > 0.8 && seconds < 1.15, `${seconds} s`).toBe(true);
    expect(await tonesAt(path, 0.14, 0.55)).toEqual([HEARD[1], HEARD[2]]);
    expect(warnings).toEqual(format === 'amr' ? ['encoded_anew'] : []);
    if (['amr', 'flac', 'wv', 'tta', 'wav', 'aiff', 'au', 'caf', 'w64'].includes(format)) return;
    const [all, some] = [new Set(await packetsOf(source, 'a')), await packetsOf(path, 'a')];
    expect(some.filter((packet) => !all.has(packet)).length, 'packets that are not the source’s').toBeLessThanOrEqual(
      format === 'spx' ? 1 : 0,
    );
  });

  it('takes a start alone, an end alone, and times as clocks show them', async () => {
    const wav = await fixture('wav');
    expect(await secondsOf((await made('audio-cutter', wav, { start_time: '1.25' })).path)).toBeCloseTo(0.75, 2);
    expect(await secondsOf((await made('audio-cutter', wav, { end_time: '0.4' })).path)).toBeCloseTo(0.4, 2);
    const { path } = await made('audio-cutter', wav, { start_time: '00:00:00.5', end_time: '00:00:01' });
    expect([await secondsOf(path), ...(await tonesAt(path, 0.25))]).toEqual([0.5, HEARD[1]]);
  });

  it('keeps what loses nothing as it was, to the sample', async () => {
    const m4a = join(await mkdtemp(join(home, 'alac-')), 'a.m4a');
    await ffmpeg('-i', await fixture('wav'), '-c:a', 'alac', m4a);
    const { path } = await made('audio-cutter', m4a, { start_time: '0.5', end_time: '1.5', mode: 'EXACT' });
    expect(await codecsOf(path)).toEqual(['alac']);
    const wanted = (await bytesOf('-i', await fixture('wav'), '-f', 's16le')).subarray(22_050 * 4, 66_150 * 4);
    expect((await bytesOf('-i', path, '-f', 's16le')).equals(wanted)).toBe(true);
  });

  it('says what it needs', async () => {
    const wav = await fixture('wav');
    expect(await refusal('audio-cutter', wav)).toMatchObject({
      status: 400,
      code: 'INVALID_OPTION',
      option: 'start_time',
      received: null,
      allowed: expect.stringContaining('end_time'),
    });
    expect(await refusal('audio-cutter', wav, { start_time: '2', end_time: '2' })).toMatchObject({
      status: 400,
      option: 'end_time',
      received: '2',
    });
    expect(await refusal('audio-cutter', wav, { start_time: '-1' })).toMatchObject({
      status: 400,
      option: 'start_time',
      received: '-1',
      allowed: 'seconds or HH:MM:SS(.mmm)',
    });
    expect(await refusal('audio-cutter', wav, { end_time: '0' })).toMatchObject({ status: 400, option: 'end_time' });
    expect(await refusal('audio-cutter', wav, { end_time: '1', mode: 'quick' })).toMatchObject({
      status: 400,
      option: 'mode',
      received: 'quick',
      allowed: 'one of exact, fast',
    });
    expect(await refusal('audio-cutter', wav, { start_time: '2.5' })).toMatchObject({
      status: 400,
      code: 'INVALID_OPTION',
      option: 'start_time',
      received: '2.5',
    });
    expect((await made('audio-cutter', wav, { start_time: '1', end_time: '9' })).warnings).toEqual(['end_past_end']);
  });

  it('refuses other kinds, several files, none, and damage', async () => {
    const png = await pictures['png']?.('a', home);
    for (const wrong of [png ?? '', film])
      expect(await refusal('audio-cutter', wrong, { end_time: '1' })).toMatchObject({
        status: 415,
        code: 'UNSUPPORTED_MIME',
        accepted: SOUNDS,
      });
    expect(await refusal('audio-cutter', [], { end_time: '1' })).toMatchObject({ status: 400, code: 'NO_FILE' });
    const damaged = Buffer.concat([Buffer.from('fLaC'), Buffer.alloc(2000, 3)]);
    expect(await refusal('audio-cutter', { name: 'a.flac', bytes: damaged }, { end_time: '1' })).toMatchObject({
      status: 500,
      reason: 'corrupt_input',
    });
  });
});

describe('trim-video', () => {
  it.concurrent.each(SOUNDING.map((format) => [format]))('keeps the stretch that was asked for of a %s, in its codecs', async (format) => {
    const source = await fixture(format);
    const { path } = await made('trim-video', source, { start_time: '0.7', end_time: '1.6' });
    // What is written of it is an MP4.
    expect(path.endsWith(`.${format === 'm4v' ? 'mp4' : format}`), path).toBe(true);
    const [whole, part] = [await framesOf(source, 30), await framesOf(path, 30)];
    // How long the last picture stands, not every container tells.
    expect(part.length / 30, 'seconds of picture').toBeCloseTo(0.9, 0.6);
    const far = (one: Buffer | undefined, other: Buffer | undefined) =>
      [...(one ?? [])].reduce((sum, value, at) => sum + Math.abs(value - (other?.[at] ?? 0)), 0) / 768;
    // Each half of a second shows another picture: 0.2, 0.55 and 0.85 s of the part lie in the second, third and fourth.
    for (const [at, phase] of [
      [0.2, 1],
      [0.55, 2],
      [0.85, 3],
    ] as const) {
      const nearest = [0, 1, 2, 3].map((half) => far(part[Math.min(part.length - 1, Math.round(at * 30))], whole[half * 15 + 7]));
      expect(nearest.indexOf(Math.min(...nearest)), `${at} s: ${nearest}`).toBe(phase);
    }
    expect(await soundSeconds(path)).toBeCloseTo(0.9, 0.7);
    expect(await tonesAt(path, 0.12, 0.55)).toEqual([HEARD[1], HEARD[2]]);
    expect(await codecsOf(path)).toEqual(await codecsOf(source));
  });

  it('cuts at the frame when it is exact, which it is by default', async () => {
    for (const fields of [{ mode: 'exact' }, {}] as Fields[]) {
      const { path } = await made('trim-video', film, { ...fields, start_time: '1.5', end_time: '3.2' });
      expect(await storyOf(path)).toEqual([
        ['green', 5],
        ['blue', 10],
        ['white', 2],
      ]);
      expect(await tonesAt(path, 0.2, 1, 1.6)).toEqual([TONES[1], TONES[2], TONES[3]]);
    }
  });

  it.each(['mp4', 'mkv', 'ts', 'avi', 'webm', 'mpg', 'flv'])(
    'takes packets of a %s as they are when it may be fast, from a key frame on',
    async (format) => {
      const source = await aFilm(`film.${format}`, { fps: 25, more: format === 'mpg' ? ['-f', 'vob', '-bf', '0'] : [] });
      const { path, warnings } = await made('trim-video', source, { start_time: '2', end_time: '4', mode: 'fast' });
      expect(warnings).toEqual([]);
      const story = (await storyOf(path)).filter(([, frames]) => frames > 3).map(([name]) => name);
      expect(story.filter((name) => name !== 'green' && name !== 'yellow')).toEqual(['blue', 'white']);
      for (const kind of ['v', 'a']) {
        const [all, some] = [new Set(await packetsOf(source, kind)), await packetsOf(path, kind)];
        expect(some.length).toBeGreaterThan(20);
        // A program stream is parted into packets again: what lies at their edges moves.
        const foreign = some.filter((packet) => !all.has(packet));
        expect(foreign.length).toBeLessThanOrEqual(format === 'mpg' ? some.length / 4 : 0);
      }
    },
  );

  it('says what it needs, and refuses other kinds and damage', async () => {
    expect(await refusal('trim-video', film)).toMatchObject({ status: 400, code: 'INVALID_OPTION', option: 'start_time', received: null });
    expect(await refusal('trim-video', film, { start_time: '3', end_time: '1' })).toMatchObject({
      status: 400,
      option: 'end_time',
      received: '1',
    });
    expect(await refusal('trim-video', await fixture('mp3'), { end_time: '1' })).toMatchObject({ status: 415, accepted: VIDEOS });
    expect(await refusal('trim-video', DAMAGED('a.mp4'), { end_time: '1' })).toMatchObject({ status: 500, code: 'CONVERSION_FAILED' });
  });
});

describe('compress-video', () => {
  let grainy: string;
  beforeAll(async () => {
    grainy = join(home, 'grainy.mp4');
    const inputs = [
      '-f',
      'lavfi',
      '-i',
      'testsrc2=size=320x180:rate=25:duration=8,noise=alls=25:allf=t',
      '-f',
      'lavfi',
      '-i',
      'anoisesrc=duration=8:amplitude=0.3:sample_rate=48000',
    ];
    await ffmpeg(
      ...inputs,
      '-c:v',
      'libx264',
      '-preset',
      'ultrafast',
      '-crf',
      '16',
      '-pix_fmt',
      'yuv420p',
      '-c:a',
      'aac',
      '-b:a',
      '256k',
      '-ac',
      '2',
      grainy,
    );
  });

  it('makes it the smaller the smaller the preset is, medium by default', async () => {
    const sizes: number[] = [];
    for (const preset of ['small', 'medium', '', 'high']) sizes.push((await made('compress-video', grainy, { preset })).bytes.length);
    const [small = 0, medium = 0, byDefault = 0, high = 0] = sizes;
    expect(byDefault).toBe(medium);
    expect([small < medium * 0.8, medium < high * 0.8, high < (await stat(grainy)).size * 0.9], `${sizes}`).toEqual([true, true, true]);
  });

  it.each([300, 1000])('makes it %i kbit/s, picture and sound together', async (bitrate) => {
    const { path } = await made('compress-video', grainy, { bitrate: `${bitrate}` });
    const { format, streams } = await probe(path);
    expect(Number(format.bit_rate) / 1000 / bitrate, `${format.bit_rate}`).toBeCloseTo(1, 0.7);
    expect(streams.map(({ codec_name, width, height }) => [codec_name, width, height])).toEqual([
      ['h264', 320, 180],
      ['aac', undefined, undefined],
    ]);
    expect(Number(format.duration)).toBeCloseTo(8, 1);
  });

  it.each(['webm', 'avi', 'mpg', 'wmv', 'ogv'])('keeps to a bit rate in a %s as well', async (format) => {
    const source = join(await mkdtemp(join(home, 'rate-')), `a.${format}`);
    await ffmpeg(
      '-i',
      grainy,
      ...(format === 'webm' ? ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8'] : []),
      ...(format === 'mpg' ? ['-f', 'vob'] : []),
      '-b:v',
      '3M',
      source,
    );
    const { path } = await made('compress-video', source, { bitrate: '700' });
    expect(((await stat(path)).size * 8) / 8000 / 700, format).toBeCloseTo(1, 0.4);
    expect((await probe(path)).format.format_name).toBe((await probe(source)).format.format_name);
  });

  it('gives back what cannot be made smaller', async () => {
    const { bytes, warnings } = await made('compress-video', film, { bitrate: '50000' });
    expect([bytes.equals(await readFile(film)), warnings]).toEqual([true, ['not_smaller']]);
  });

  it('says what it takes', async () => {
    for (const bitrate of ['99', '50001', 'x'])
      expect(await refusal('compress-video', film, { bitrate })).toMatchObject({
        status: 400,
        option: 'bitrate',
        received: bitrate,
        allowed: expect.stringContaining('100 to 50000 kbit/s'),
      });
    expect(await refusal('compress-video', film, { preset: 'tiny' })).toMatchObject({
      status: 400,
      option: 'preset',
      received: 'tiny',
      allowed: 'one of small, medium, high',
    });
    expect(await refusal('compress-video', film, { preset: 'small', bitrate: '100' })).toMatchObject({ status: 400, option: 'bitrate' });
    expect(await refusal('compress-video', await fixture('wav'))).toMatchObject({ status: 415, accepted: VIDEOS });
    expect(await refusal('compress-video', DAMAGED('a.mp4'))).toMatchObject({ status: 500, code: 'CONVERSION_FAILED' });
  });
});

describe('reverse-video', () => {
  const BACKWARDS = ALL.toReversed();
  it.each(['mp4', 'mkv', 'webm', 'avi', 'mov', 'ts', 'wmv'])('plays a %s backwards, its sound too', async (format) => {
    const { path } = await made('reverse-video', await aFilm(`film.${format}`, { fps: 25 }));
    const story = await storyOf(path);
    expect(story.map(([name]) => name)).toEqual(BACKWARDS);
    for (const [name, frames] of story) expect(Math.abs(frames - 25), `${name} for ${frames} frames`).toBeLessThanOrEqual(1);
    expect(await tonesAt(path, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5)).toEqual(TONES.toReversed());
    expect(Math.abs((await secondsOf(path)) - 6)).toBeLessThan(0.15);
  });

  it('turns a large one in parts, and no frame is lost or shown twice', async () => {
    const source = await aFilm('large.mp4', { size: '1920x1080', fps: 50 });
    const { path } = await made('reverse-video', source);
    expect(await storyOf(path)).toEqual(BACKWARDS.map((name) => [name, 50]));
    expect(await tonesAt(path, 0.1, 0.9, 1.1, 2.9, 3.1, 5.9)).toEqual([5, 5, 4, 3, 2, 0].map((place) => TONES[place]));
  });

  it('hears with each picture what belonged to it, where sound and picture end apart', async () => {
    const { path } = await made('reverse-video', await aFilm('short.mp4', { tones: TONES.slice(0, 4) }));
    expect(await tonesAt(path, 0.5, 1.5, 2.5, 5.5)).toEqual([0, 0, TONES[3], TONES[0]]);
  });

  it('does without sound, and takes a minute at most', async () => {
    expect((await storyOf((await made('reverse-video', await aFilm('silent.mp4', { tones: [] }))).path)).map(([name]) => name)).toEqual(
      BACKWARDS,
    );
    expect(await refusal('reverse-video', await long(61))).toMatchObject({
      status: 500,
      code: 'CONVERSION_FAILED',
      reason: 'input_limit',
      max: 60,
      received: 61,
    });
    expect(await secondsOf((await made('reverse-video', await long(60))).path)).toBe(60);
    expect(await refusal('reverse-video', await fixture('wav'))).toMatchObject({ status: 415, accepted: VIDEOS });
    expect(await refusal('reverse-video', DAMAGED('a.mp4'))).toMatchObject({ status: 500, code: 'CONVERSION_FAILED' });
  });
});

describe('extract-audio-from-video', () => {
  let tracks: string;
  beforeAll(async () => {
    tracks = join(home, 'tracks.mkv');
    await ffmpeg(
      '-i',
      film,
      '-f',
      'lavfi',
      '-i',
      'sine=frequency=890:duration=6,volume=3',
      '-map',
      '0',
      '-map',
      '1',
      '-c:v',
      'copy',
      tracks,
    );
  });

  it.concurrent.each(SOUNDING.map((format) => [format]))('gives the sound of a %s as MP3', async (format) => {
    const { path } = await made('extract-audio-from-video', await fixture(format));
    expect(await codecsOf(path)).toEqual(['mp3']);
    expect(await tonesAt(path, 0.25, 0.75, 1.25, 1.75)).toEqual(HEARD);
  });

  it('takes the track that is named, the first by default', async () => {
    expect(await tonesAt((await made('extract-audio-from-video', tracks)).path, 0.5, 2.5)).toEqual([TONES[0], TONES[2]]);
    expect(await tonesAt((await made('extract-audio-from-video', tracks, { track: '2' })).path, 0.5, 2.5)).toEqual([890, 890]);
    expect(await refusal('extract-audio-from-video', tracks, { track: '3' })).toMatchObject({ status: 500, reason: 'no_stream' });
    expect(await refusal('extract-audio-from-video', await aFilm('none.mp4', { tones: [] }))).toMatchObject({
      status: 500,
      reason: 'no_stream',
    });
  });

  it('encodes as the options say, and copies what is MP3 already', async () => {
    const { path } = await made('extract-audio-from-video', film, { mp3_mode: 'cbr', mp3_bitrate: '64' });
    expect(Number((await probe(path)).format.bit_rate) / 1000).toBeCloseTo(64, -0.7);
    const [best, worst] = [
      await made('extract-audio-from-video', tracks, { mp3_quality: '0' }),
      await made('extract-audio-from-video', tracks, { mp3_quality: '9' }),
    ];
    expect(best.bytes.length).toBeGreaterThan(worst.bytes.length);
    const avi = await fixture('avi');
    expect((await packetsOf((await made('extract-audio-from-video', avi)).path, 'a')).slice(-20)).toEqual(
      (await packetsOf(avi, 'a')).slice(-20),
    );
  });

  it('takes its options as conversions do', async () => {
    for (const name of ['mp3_mode', 'mp3_quality', 'mp3_bitrate', 'track'] as const)
      expect(wordsOf(extraction.input.shape[name])).toBe(allowed(name));
    for (const [option, received] of [
      ['mp3_mode', 'x'],
      ['mp3_quality', '10'],
      ['mp3_bitrate', '100'],
      ['track', '0'],
      ['track', '100'],
    ] as const)
      expect(await refusal('extract-audio-from-video', film, { [option]: received })).toMatchObject({
        status: 400,
        code: 'INVALID_OPTION',
        option,
        received,
      });
    expect(await refusal('extract-audio-from-video', await fixture('mp3'))).toMatchObject({ status: 415, accepted: VIDEOS });
  });
});

describe('remove-audio-from-video', () => {
  it.concurrent.each(SOUNDING.map((format) => [format]))('leaves the picture of a %s as it was, bit by bit', async (format) => {
    const source = await fixture(format);
    const { path, warnings } = await made('remove-audio-from-video', source);
    expect((await probe(path)).streams.map(({ codec_type }) => codec_type)).toEqual(['video']);
    expect(warnings).toEqual(format === 'ogv' ? ['encoded_anew'] : []);
    if (format !== 'ogv') {
      expect((await framesOf(path)).length).toBe((await framesOf(source)).length);
      expect(await packetsOf(path, 'v')).toEqual(await packetsOf(source, 'v'));
      return;
    }
    // A picture that is shown again may be stored again, or not: what counts is what is seen at each time, but for how long the last one stands.
    const [after, before] = [await framesOf(path, 10), await framesOf(source, 10)];
    expect(after.length).toBeGreaterThanOrEqual(before.length);
    for (const [at, frame] of after.slice(0, before.length).entries()) expect(nameAt(frame)).toBe(nameAt(before[at] ?? frame));
  });

  it('keeps subtitles, and every picture', async () => {
    const [words, source] = [join(home, 'words.srt'), join(home, 'many.mkv')];
    await writeFile(words, '1\n00:00:01,000 --> 00:00:02,000\nKestrel\n');
    await ffmpeg('-i', film, '-i', words, '-map', '0', '-map', '0:v', '-map', '0:a', '-map', '1', '-c', 'copy', source);
    const { path } = await made('remove-audio-from-video', source);
    expect(await codecsOf(path)).toEqual(['h264', 'h264', 'subrip']);
    expect(await packetsOf(path, 's')).toEqual(await packetsOf(source, 's'));
  });

  it('says where there is no sound, and refuses other kinds and damage', async () => {
    expect(await refusal('remove-audio-from-video', await aFilm('none.mp4', { tones: [] }))).toMatchObject({
      status: 500,
      reason: 'no_stream',
    });
    expect(await refusal('remove-audio-from-video', await fixture('mp3'))).toMatchObject({ status: 415, accepted: VIDEOS });
    expect(await refusal('remove-audio-from-video', DAMAGED('a.mp4'))).toMatchObject({ status: 500, code: 'CONVERSION_FAILED' });
  });
});

describe('merge-videos', () => {
  it('joins what differs in size, codec, rate and sound, on the first one’s canvas', async () => {
    const files = [
      await aFilm('first.mp4', { colours: ['red', 'green'], size: '160x90', fps: 25 }),
      await aFilm('tall.webm', { colours: ['blue'], size: '90x160', fps: 10, more: ['-deadline', 'realtime'], tones: [1070] }),
      await aFilm('silent.avi', { colours: ['white', 'yellow'], size: '320x180', fps: 30, tones: [] }),
      await aFilm('old.mpg', { colours: ['magenta'], size: '352x288', fps: 25, tones: [2250], more: ['-f', 'vob'] }),
    ];
    const { path } = await made('merge-videos', files);
    const { streams, format } = await probe(path);
    expect(streams.map(({ codec_name, width, height }) => [codec_name, width, height])).toEqual([
      ['h264', 160, 90],
      ['aac', undefined, undefined],
    ]);
    expect([streams[0]?.avg_frame_rate, basename(path)]).toEqual(['25/1', 'first-filemill.mp4']);
    expect(Number(format.duration)).toBeCloseTo(6, 0.7);
    const story = await storyOf(path);
    expect(story.map(([name]) => name)).toEqual(['red', 'green', 'blue', 'white', 'yellow', 'magenta']);
    for (const [name, count] of story) expect(Math.abs(count - 25), `${name} ${count}`).toBeLessThanOrEqual(2);
    expect(await tonesAt(path, 0.5, 1.5, 2.5, 3.5, 4.5, 5.6)).toEqual([TONES[0], TONES[1], 1070, 0, 0, 2250]);
    const frames = await framesOf(path);
    const corners = (frame: Buffer | undefined) => [nameAt(frame, 0.05), nameAt(frame, 0.95), nameAt(frame, 0.5, 0.02)];
    expect(corners(frames[10])).toEqual(['red', 'red', 'red']);
    expect(corners(frames[60])).toEqual(['black', 'black', 'blue']);
    expect(corners(frames[90])).toEqual(['white', 'white', 'white']);
  });

  it('takes a GIF among them, keeps the order, and gives no sound where none has any', async () => {
    const gif = join(home, 'moves.gif');
    await ffmpeg('-i', film, '-t', '1', gif);
    const silent = await aFilm('blue.mp4', { colours: ['blue'], tones: [] });
    for (const [files, story] of [
      [
        [gif, silent],
        ['red', 'blue'],
      ],
      [
        [silent, gif],
        ['blue', 'red'],
      ],
    ] as const) {
      const { path } = await made('merge-videos', files);
      expect((await storyOf(path)).map(([name]) => name)).toEqual(story);
      expect(await codecsOf(path)).toEqual(['h264']);
    }
  });

  it('stands a turned film upright, and joins several', async () => {
    const turned = join(home, 'turned.mp4');
    await ffmpeg('-i', await aFilm('lying.mp4', { colours: ['red'] }), '-c', 'copy', '-metadata:s:v:0', 'rotate=90', turned);
    const { path } = await made(
      'merge-videos',
      Array.from({ length: 5 }, () => turned),
    );
    const { streams, format } = await probe(path);
    expect([streams[0]?.width, streams[0]?.height, streams[0]?.nb_read_frames]).toEqual([64, 96, '50']);
    expect(Number(format.duration)).toBeCloseTo(5, 0.7);
  });

  it('takes 2 to 20 videos', async () => {
    expect(await refusal('merge-videos', [film])).toMatchObject({ status: 400, code: 'BAD_REQUEST' });
    const tiny: Sent = { name: 'a.mp4', bytes: await readFile(film) };
    expect(
      await refusal(
        'merge-videos',
        Array.from({ length: 21 }, () => tiny),
      ),
    ).toMatchObject({ status: 400, code: 'BATCH_TOO_LARGE', max_files: 20, received_files: 21 });
    // As many as it takes, told by what it says of the first one, which is damaged.
    expect(await refusal('merge-videos', [DAMAGED('a.mp4'), ...Array.from({ length: 19 }, () => tiny)])).toMatchObject({
      status: 500,
      code: 'CONVERSION_FAILED',
    });
    expect(await refusal('merge-videos', [film, await fixture('mp3')])).toMatchObject({ status: 415 });
    expect(await refusal('merge-videos', [film, DAMAGED('a.mp4')])).toMatchObject({ status: 500, code: 'CONVERSION_FAILED' });
  });
});

describe('gif-maker', () => {
  /** As ImageMagick reads it: size, and the delay of each frame in hundredths of a second. */
  async function looked(path: string) {
    const { stdout } = await run('/usr/bin/identify-im6.q16', ['-format', '%W %H %T\n', `gif:${path}`]);
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ').map(Number));
    return { width: rows[0]?.[0], height: rows[0]?.[1], delays: rows.map((row) => row[2]) };
  }

  it('makes 10 frames a second of a video, 480 px wide', async () => {
    const { path } = await made('gif-maker', film);
    expect(await looked(path)).toEqual({ width: 480, height: 320, delays: Array.from({ length: 60 }, () => 10) });
    expect(await storyOf(path)).toEqual(ALL.map((name) => [name, 10]));
  });

  it('takes a rate and a width at either bound', async () => {
    const slow = await looked((await made('gif-maker', film, { fps: '1', width: '16' })).path);
    expect([slow.width, slow.height, slow.delays]).toEqual([16, 11, [100, 100, 100, 100, 100, 100]]);
    const fast = await looked(
      (await made('gif-maker', await aFilm('short.mp4', { colours: ['red', 'blue'] }), { fps: '30', width: '1920' })).path,
    );
    expect([fast.width, fast.height, fast.delays.length]).toEqual([1920, 1280, 60]);
    expect(Math.abs(fast.delays.reduce<number>((sum, delay = 0) => sum + delay, 0) - 200)).toBeLessThanOrEqual(2);
    for (const [option, received] of [
      ['fps', '0'],
      ['fps', '31'],
      ['width', '15'],
      ['width', '1921'],
      ['width', 'x'],
    ] as const)
      expect(await refusal('gif-maker', film, { [option]: received })).toMatchObject({
        status: 400,
        code: 'INVALID_OPTION',
        option,
        received,
        allowed: expect.stringContaining('integer'),
      });
  });

  it('makes a frame of each picture, in order, fitted to the first one’s shape', async () => {
    const still = async (colour: Name, name: string, size: string) => {
      const path = join(home, name);
      await ffmpeg('-i', await aFilm(`${colour}.mkv`, { colours: [colour], size, tones: [] }), '-frames:v', '1', path);
      return path;
    };
    const files = [
      await still('red', 'a.png', '200x100'),
      await still('blue', 'b.jpg', '100x100'),
      await still('green', 'c.bmp', '400x100'),
    ];
    const { path } = await made('gif-maker', files, { fps: '4', width: '160' });
    expect(await looked(path)).toEqual({ width: 160, height: 80, delays: [25, 25, 25] });
    const frames = await framesOf(path);
    expect(frames.map((frame) => nameAt(frame))).toEqual(['red', 'blue', 'green']);
    expect(frames.map((frame) => [nameAt(frame, 0.05), nameAt(frame, 0.5, 0.05)])).toEqual([
      ['red', 'red'],
      ['black', 'blue'],
      ['green', 'black'],
    ]);
    expect((await looked((await made('gif-maker', files)).path)).delays).toEqual([10, 10, 10]);
  });

  it('reads pictures of every format that it says it takes', async () => {
    const { accepts } = (await import('../../../src/catalog/tools/audio-video/gif-maker.ts')).tool;
    const files: string[] = [];
    for (const format of accepts.filter((id) => !VIDEOS.includes(id)))
      files.push((await pictures[format]?.('a', await mkdtemp(join(home, `${format}-`)))) ?? format);
    expect(files.length).toBeGreaterThan(18);
    expect((await looked((await made('gif-maker', files, { width: '96' })).path)).delays.length).toBe(files.length);
  });

  it('stands a photo upright, and takes a dozen of them', async () => {
    const upright = await photo(home, 6);
    const { path } = await made(
      'gif-maker',
      Array.from({ length: 12 }, () => upright),
      { width: '96', fps: '20' },
    );
    const { width, height, delays } = await looked(path);
    expect([width, height, delays.length, new Set(delays)]).toEqual([96, 64, 12, new Set([5])]);
  });

  it.each([2, 3, 4, 5, 6, 7, 8])('stands a PNG upright that lies as EXIF %i says', async (orientation) => {
    const lying = await photoPng(home, orientation, orientation % 2 === 0);
    await expectQuarters((await made('gif-maker', [lying, await photo(home, 1)], { width: '96' })).path, 'gif', 60);
  });

  it('takes a hundred pictures', async () => {
    const upright = await photo(home, 6);
    // Told by what it says of the first one, which is damaged: each picture costs two processes.
    const damaged: Sent = { name: 'a.png', bytes: (await readFile((await pictures['png']?.('a', home)) ?? '')).subarray(0, 20) };
    expect(await refusal('gif-maker', [damaged, ...Array.from({ length: 99 }, () => upright)])).toMatchObject({
      status: 500,
      reason: 'corrupt_input',
    });
  });

  it('says what it takes', async () => {
    const png = (await pictures['png']?.('a', home)) ?? '';
    const bytes = await readFile(png);
    expect(await refusal('gif-maker', png)).toMatchObject({ status: 400, code: 'BAD_REQUEST' });
    expect(await refusal('gif-maker', [film, png])).toMatchObject({ status: 400, code: 'BAD_REQUEST' });
    expect(
      await refusal(
        'gif-maker',
        Array.from({ length: 101 }, () => ({ name: 'a.png', bytes })),
      ),
    ).toMatchObject({ status: 400, code: 'BATCH_TOO_LARGE', max_files: 100 });
    expect(await refusal('gif-maker', await fixture('mp3'))).toMatchObject({
      status: 415,
      code: 'UNSUPPORTED_MIME',
      accepted: expect.arrayContaining(['mp4', 'png', 'gif']),
    });
    expect(await refusal('gif-maker', [png, { name: 'b.png', bytes: bytes.subarray(0, bytes.length >> 1) }])).toMatchObject({
      status: 500,
      reason: 'corrupt_input',
    });
    expect(await refusal('gif-maker', await long(61))).toMatchObject({ status: 500, reason: 'input_limit', max: 60 });
  });
});
