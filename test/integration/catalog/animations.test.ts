/** Animations as animations: GIF, APNG and WebP into each other and into videos, with the time of each frame and what is transparent. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool, outputOf } from '../../kit/api/tools.ts';
import { type Picture, pams } from '../../kit/judges/pictures/pixels.ts';
import { convert, convertTo, type Service, settled } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';
const [WIDTH, HEIGHT] = [640, 48];
/** Each is the left half of a frame; the right half is transparent. */
const COLOURS = ['#ff0000', '#00ff00', '#0000ff', '#ffff00'] as const;
/** ms of each frame: an end that is held, as people like it. */
const TIMES = [100, 300, 60, 540] as const;
const WHOLE = TIMES.reduce((sum, ms) => sum + ms, 0) / 1000;

let service: Pick<Service, 'url'>;
let home: string;
let frames: string[];
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-animations-'));
  service = await sharedService();
  frames = COLOURS.map((_, place) => join(home, `frame-${place}.png`));
  for (const [place, colour] of COLOURS.entries())
    await run(CONVERT, [
      '-size',
      `${WIDTH}x${HEIGHT}`,
      'xc:none',
      '-fill',
      colour,
      '-draw',
      `rectangle 0,0 ${WIDTH / 2 - 1},${HEIGHT}`,
      `png32:${frames[place]}`,
    ]);
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});
const aFolder = () => mkdtemp(join(home, 'a-'));
const to = (file: string, target: string, fields: Readonly<Record<string, string>> = {}) =>
  convertTo(service.url, home, file, target, fields);
const codes = ({ warnings }: { warnings: readonly { code: string }[] }) => warnings.map(({ code }) => code);

/** Written by other programs than those that read them. */
const WRITERS: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  gif: (path) =>
    run(CONVERT, [
      '-dispose',
      'Background',
      ...frames.flatMap((frame, place) => ['-delay', `${(TIMES[place] ?? 0) / 10}`, frame]),
      '-loop',
      '0',
      `gif:${path}`,
    ]),
  apng: async (path) => {
    for (const [place, frame] of frames.entries()) await writeFile(frame.replace('.png', '.txt'), `delay=${TIMES[place]}/1000\n`);
    await run('/usr/bin/apngasm', [path, frames[0] ?? '', '-kc']);
  },
  webp: (path) => run('/usr/bin/img2webp', [...frames.flatMap((frame, place) => ['-d', `${TIMES[place]}`, frame]), '-o', path]),
};

async function animation(format: string, name = `moving.${format}`): Promise<string> {
  const path = join(await aFolder(), name);
  await WRITERS[format]?.(path);
  return path;
}

/** ms of each frame, as the file says it. */
async function timesOf(path: string, format: string): Promise<number[]> {
  if (format === 'webp') return webpTimes(await readFile(path));
  if (format === 'gif')
    return (await run(CONVERT, [path, '-format', '%T ', 'info:'])).stdout
      .trim()
      .split(' ')
      .map((time) => Number(time) * 10);
  const { stdout } = await run('ffprobe', ['-v', 'error', '-f', 'apng', '-show_entries', 'packet=duration_time', '-of', 'csv=p=0', path]);
  return stdout
    .trim()
    .split('\n')
    .map((seconds) => Math.round(Number.parseFloat(seconds) * 1000));
}

/** RFC 9649, 2.7.1.1: three bytes, twelve behind the head of the chunk. */
function webpTimes(bytes: Buffer): number[] {
  const times: number[] = [];
  for (let at = 12; at + 8 <= bytes.length; at += 8 + bytes.readUInt32LE(at + 4) + (bytes.readUInt32LE(at + 4) % 2))
    if (bytes.toString('latin1', at, at + 4) === 'ANMF') times.push(bytes.readUIntLE(at + 20, 3));
  return times;
}

/** The frame at a time, red, green, blue and opacity. */
const frameAt = async (path: string, seconds: number, ...reader: readonly string[]): Promise<Picture> => {
  const shown = ['-vf', `fps=50,trim=start=${seconds}`, '-frames:v', '1', '-f', 'image2pipe', '-c:v', 'pam', '-pix_fmt', 'rgba', 'pipe:1'];
  const [picture] = await pams('/usr/bin/ffmpeg', ['-v', 'error', ...reader, '-i', path, ...shown]);
  if (picture === undefined) throw new Error(`nothing is shown at ${seconds} s`);
  return picture;
};
/** In the middle of the left and of the right half. */
const colours = ({ width, height, pixels }: Picture) =>
  [0.25, 0.75].map((across) => [...pixels.subarray((Math.floor(height / 2) * width + Math.floor(width * across)) * 4).subarray(0, 4)]);
const near = (found: readonly number[] | undefined, wanted: readonly number[]) =>
  expect(Math.max(...wanted.map((value, place) => Math.abs(value - (found?.[place] ?? 999)))), `${found} for ${wanted}`).toBeLessThan(24);
const rgb = (place: number) => [1, 3, 5].map((at) => Number.parseInt(COLOURS[place]?.slice(at, at + 2) ?? '', 16));

const SOURCES = ['gif', 'apng', 'webp'] as const;

describe.each(SOURCES)('an animated %s', (source) => {
  it.each(['mp4', 'webm', 'mkv', 'mpg'])('is as long as a %s, on white, its last frame held', async (target) => {
    const { path } = await to(await animation(source), target);
    const { stdout } = await run('ffprobe', [
      '-v',
      'error',
      '-count_frames',
      '-select_streams',
      'v',
      '-show_entries',
      'stream=nb_read_frames,r_frame_rate:format=duration',
      '-of',
      'json',
      path,
    ]);
    const { streams, format } = JSON.parse(stdout);
    const [over = 0, under = 1] = streams[0].r_frame_rate.split('/').map(Number);
    // A program stream does not say when its last frame ends.
    const seconds = target === 'mpg' ? (Number(streams[0].nb_read_frames) * under) / over : Number(format.duration);
    expect(Math.abs(seconds - WHOLE), `${seconds} s`).toBeLessThan(0.1);
    for (const [time, place] of [
      [0.03, 0],
      [0.3, 1],
      [0.9, 3],
    ] as const) {
      const [left, right] = colours(await frameAt(path, time));
      near(left, rgb(place));
      near(right, [255, 255, 255]);
    }
  });

  it.each(SOURCES.filter((target) => target !== source))('is the same as an %s, of its size', async (target) => {
    const { path } = await to(await animation(source), target);
    const times = await timesOf(path, target);
    expect(times).toEqual(TIMES);
    if (target === 'webp') return;
    const reader = target === 'apng' ? ['-f', 'apng'] : [];
    for (const [time, place] of [
      [0.03, 0],
      [0.3, 1],
      [0.9, 3],
    ] as const) {
      const frame = await frameAt(path, time, ...reader);
      expect([frame.width, frame.height]).toEqual([WIDTH, HEIGHT]);
      const [left, right] = colours(frame);
      near(left, [...rgb(place), 255]);
      expect(right?.[3], 'opacity of the right half').toBe(0);
    }
  });

  it('is a still as a PNG, and its client is told', async () => {
    const { path, job } = await to(await animation(source), source === 'apng' ? 'jpg' : 'png');
    expect(codes(job)).toContain('animation_first_frame');
    near(colours(await frameAt(path, 0))[0], rgb(0));
  });
});

describe('an APNG', () => {
  it('is named .png by most, without a warning', async () => {
    const { job } = await to(await animation('apng', 'moving.png'), 'gif');
    expect(codes(job)).toEqual(['lossy']);
  });

  it('of one frame is a PNG', async () => {
    const path = join(await aFolder(), 'one.png');
    await run('ffmpeg', ['-v', 'error', '-i', frames[0] ?? '', '-f', 'apng', path]);
    const { job } = await to(path, 'webp');
    expect([job.engine?.name, codes(job)]).toEqual(['libvips (sharp)', []]);
  });

  it('can be made smaller, faster and shorter', async () => {
    const { path } = await to(await animation('apng'), 'gif', { video_width: '320', start_time: '0.1', end_time: '0.4' });
    const frame = await frameAt(path, 0);
    expect(frame.width).toBe(320);
    near(colours(frame)[0], rgb(1));
    expect(await timesOf(path, 'gif')).toEqual([300]);
  });

  it('that is cut keeps the times of what is left, also of its end', async () => {
    for (const target of ['gif', 'webp']) {
      const { path } = await to(await animation('apng'), target, { start_time: '0.1' });
      expect(await timesOf(path, target), target).toEqual([300, 60, 540]);
    }
    const { path } = await to(await animation('gif'), 'apng', { end_time: '0.9' });
    expect(await timesOf(path, 'apng')).toEqual([100, 300, 60, 440]);
  });

  it.each([
    ['two slides', '1/5', 2, '1/1', 6, 1500],
    ['thirty frames a second', '30', 45, '1/30', 1.5, 45],
    ['sixty frames a second', '60', 90, '1/60', 1.5, 90],
    ['frames that are over at once', '1000', 20, '1/1000', 2, 20],
  ])('of %s is a video of as many frames', async (_, rate, count, last, seconds, most) => {
    const path = join(await aFolder(), 'even.png');
    await run('ffmpeg', [
      '-v',
      'error',
      '-f',
      'lavfi',
      '-i',
      `testsrc=size=64x48:rate=${rate}`,
      '-frames:v',
      `${count}`,
      '-f',
      'apng',
      '-final_delay',
      last,
      path,
    ]);
    const { stdout } = await run('ffprobe', [
      '-v',
      'error',
      '-count_frames',
      '-show_entries',
      'stream=nb_read_frames:format=duration',
      '-of',
      'json',
      (await to(path, 'mp4')).path,
    ]);
    const { streams, format } = JSON.parse(stdout);
    expect(Math.abs(Number(format.duration) - seconds), format.duration).toBeLessThan(0.06);
    expect(Number(streams[0].nb_read_frames)).toBeLessThanOrEqual(most);
  });

  it('of more than a minute becomes no GIF', async () => {
    const bytes = await readFile(await animation('apng'));
    // The delay of the last frame: an hour, in seconds.
    const at = bytes.lastIndexOf('fcTL');
    bytes.writeUInt16BE(3600, at + 24);
    bytes.writeUInt16BE(1, at + 26);
    bytes.writeUInt32BE(crc32(bytes.subarray(at, at + 30)), at + 30);
    const path = join(await aFolder(), 'long.png');
    await writeFile(path, bytes);
    const { error } = await convert(service.url, path, 'gif');
    expect(error?.details).toMatchObject({ reason: 'input_limit', limit: 'seconds of animation', max: 60 });
  });

  it('that is cut off is called damaged', async () => {
    const bytes = await readFile(await animation('apng'));
    const path = join(await aFolder(), 'cut.png');
    await writeFile(path, bytes.subarray(0, 80));
    for (const target of ['mp4', 'png']) expect((await convert(service.url, path, target)).error?.details['reason']).toBe('corrupt_input');
  });

  it('is taken by the tools for pictures, as its first frame', async () => {
    const answer = await settled(
      service.url,
      await callTool(service, 'resize-image', await animation('apng', 'moving.png'), { img_resize_w: '100' }),
    );
    expect(answer.data === undefined ? answer.error : codes(answer.data)).toEqual(['animation_first_frame']);
    const path = join(await aFolder(), 'resized.png');
    await writeFile(path, await outputOf(service, answer));
    const frame = await frameAt(path, 0);
    expect(frame.width).toBe(100);
    near(colours(frame)[0], rgb(0));
  });
});

it('of more frames than are decoded is refused before', async () => {
  const small = await Promise.all(
    ['red', 'blue'].map(async (colour) => {
      const path = join(home, `${colour}.ppm`);
      await run(CONVERT, ['-size', '4x4', `xc:${colour}`, path]);
      return path;
    }),
  );
  const names = Array.from({ length: 1002 }, (_, place) => small[place % 2] ?? '');
  const [webp, apng, gif] = ['webp', 'png', 'gif'].map((id) => join(home, `many.${id}`)) as [string, string, string];
  await run('/usr/bin/img2webp', ['-d', '20', ...names, '-o', webp]);
  const pattern = ['-v', 'error', '-f', 'lavfi', '-i', 'testsrc=size=16x16:rate=50', '-frames:v', '1002'];
  await run('ffmpeg', [...pattern, gif]);
  await run('ffmpeg', [...pattern, '-f', 'apng', apng]);
  for (const path of [webp, apng, gif])
    for (const target of ['mp4', 'png', 'jpg'])
      expect((await convert(service.url, path, target)).error?.details, `${path} ${target}`).toMatchObject({
        reason: 'input_limit',
        limit: 'frames',
        max: 1000,
      });
});

describe('a WebP', () => {
  it('that is a still becomes a video of one frame', async () => {
    const path = join(await aFolder(), 'still.webp');
    await run(CONVERT, [frames[2] ?? '', path]);
    near(colours(await frameAt((await to(path, 'mp4')).path, 0))[0], rgb(2));
  });
});

describe('an AVIF sequence', () => {
  const SHADES = ['red', 'lime', 'blue'];
  const sequence = async () => {
    const folder = await aFolder();
    const pictures = SHADES.map((colour) => join(folder, `${colour}.png`));
    for (const [place, colour] of SHADES.entries()) await run(CONVERT, ['-size', '64x48', `xc:${colour}`, `png24:${pictures[place]}`]);
    const path = join(folder, 'sequence.avif');
    await run('/usr/bin/avifenc', ['--speed', '8', '--fps', '10', '--duration', '4', ...pictures, path]);
    return path;
  };

  it.each(['gif', 'webp'])('has all its frames as %s, each as long as before', async (target) => {
    const { path, job } = await to(await sequence(), target);
    const { stdout } = await run(CONVERT, [path, '-coalesce', '-format', '%T %[pixel:p{32,24}]\n', 'info:']);
    const shown = stdout.trim().split('\n');
    expect(shown.map((line) => line.split(' ')[0])).toEqual(['40', '40', '40']);
    const places = shown.map((line) => (/\((.*?)\)/.exec(line)?.[1] ?? '').split(',').map(Number.parseFloat));
    expect(places.map(([red = 0, green = 0, blue = 0]) => [red, green, blue].indexOf(Math.max(red, green, blue)))).toEqual([0, 1, 2]);
    expect(job.warnings.map(({ code }) => code)).not.toContain('animation_first_frame');
  });

  it.each(['png', 'jpg', 'tiff'])('is its first frame as %s, and the client is told', async (target) => {
    const { job } = await to(await sequence(), target);
    expect(job.warnings.map(({ message }) => message)).toContain('The source is an animation of 3 frames: the result is its first frame.');
  });
});
