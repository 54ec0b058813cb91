/** The frames of a film in what it becomes: brightness and colours, whole frames, and what is transparent. Judged by pixels and by FFmpeg's detector of fields. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { decode } from '../../kit/judges/pictures/pixels.ts';
import { colourAt } from '../../kit/judges/pictures/quarters.ts';
import { conversionGround } from './ground.ts';

const run = promisify(execFile);
const ground = conversionGround('frames');
const ffmpeg = (...args: readonly string[]) => run('ffmpeg', ['-v', 'error', '-y', ...args]);
const codes = (job: { warnings: readonly { code: string }[] }) => job.warnings.map(({ code }) => code);

async function made(name: string, ...args: readonly string[]): Promise<string> {
  const path = join(await ground.aFolder(), name);
  await ffmpeg(...args, path);
  return path;
}

type Rgba = readonly [red: number, green: number, blue: number, opacity: number];

/** A pixel of the first frame, by place as shares of both sides. @param reads options of FFmpeg's reader */
async function pixelOf(path: string, x = 0.5, y = 0.5, reads: readonly string[] = []): Promise<Rgba> {
  const still = join(await ground.aFolder(), 'still.png');
  // A WebP is always made by the matrix of BT.601, and FFmpeg reads a picture of any size so.
  await ffmpeg(...reads, '-i', path, '-frames:v', '1', '-update', '1', '-pix_fmt', 'rgba', still);
  const [picture] = await decode(still, 'png');
  if (picture === undefined) throw new Error('nothing was decoded');
  const at = (Math.floor(y * picture.height) * picture.width + Math.floor(x * picture.width)) * 4;
  return [...colourAt(picture, x, y), picture.pixels[at + 3] ?? 0];
}

const near = (pixel: Rgba, expected: Rgba, tolerance = 12) =>
  expect(
    pixel.every((value, place) => Math.abs(value - (expected[place] ?? 0)) <= tolerance),
    `${pixel} is not near ${expected}`,
  ).toBe(true);

const x264 = ['-c:v', 'libx264', '-preset', 'ultrafast'];
const red = ['-f', 'lavfi', '-i', 'color=c=red:s=1280x720:r=10:d=0.3,format=gbrp'];
const MADE_BY_709 = 'scale=out_color_matrix=bt709:out_range=tv,format=yuv420p';

/** White paper, of 203 cd/m²: 58 % of the scale of PQ, and three quarters of that of HLG (ITU-R BT.2408, table 1). */
const PAPER = { smpte2084: 573, 'arib-std-b67': 721 } as const;
const inHighRange = (transfer: keyof typeof PAPER) =>
  made(
    'hdr.mp4',
    ...['-f', 'lavfi', '-i', `color=c=gray:s=64x64:r=25:d=0.4,format=yuv420p10le,geq=lum=${PAPER[transfer]}:cb=512:cr=512`],
    ...['-c:v', 'libx265', '-preset', 'ultrafast', '-x265-params'],
    `log-level=error:colorprim=bt2020:transfer=${transfer}:colormatrix=bt2020nc`,
    ...['-color_primaries', 'bt2020', '-color_trc', transfer, '-colorspace', 'bt2020nc', '-tag:v', 'hvc1'],
  );

describe('a film of high dynamic range', () => {
  it.each(
    (['smpte2084', 'arib-std-b67'] as const).flatMap((transfer) =>
      ['png', 'jpg', 'webp', 'gif', 'apng', 'avi', 'wmv'].map((target) => [transfer, target] as const),
    ),
  )('of %s shows paper white as %s', async (transfer, target) => {
    const { path, job } = await ground.to(await inHighRange(transfer), target);
    const [level = 0, green = 0, blue = 0] = await pixelOf(path);
    expect(level).toBeGreaterThan(210);
    expect(level).toBeLessThan(245);
    expect(Math.max(level, green, blue) - Math.min(level, green, blue)).toBeLessThan(8);
    expect(codes(job)).not.toContain('property_lost');
  });

  it('stays one where the target says that it is one', async () => {
    const { path } = await ground.to(await inHighRange('smpte2084'), 'webm');
    const { stdout } = await run('ffprobe', ['-v', 'error', '-show_entries', 'stream=color_transfer', '-of', 'csv=p=0', path]);
    expect(stdout.trim()).toBe('smpte2084');
  });

  it('is mapped by tone_map, or left', async () => {
    const mapped = await ground.to(await inHighRange('smpte2084'), 'mp4', { tone_map: 'hable' });
    const { stdout } = await run('ffprobe', ['-v', 'error', '-show_entries', 'stream=color_transfer', '-of', 'csv=p=0', mapped.path]);
    expect(stdout.trim()).toBe('bt709');
    const left = await ground.to(await inHighRange('smpte2084'), 'png', { tone_map: 'off' });
    near(await pixelOf(left.path), [148, 148, 148, 255]);
  });
});

describe('red of a large film', () => {
  const tagged = ['-colorspace', 'bt709', '-color_primaries', 'bt709', '-color_trc', 'bt709'];
  it.each(['png', 'jpg', 'webp', 'gif'])('is red as %s, whether its matrix is stated or not', async (target) => {
    for (const said of [tagged, []]) {
      const { path } = await ground.to(await made('hd.mp4', ...red, '-vf', MADE_BY_709, ...x264, ...said), target);
      near(await pixelOf(path), [254, 0, 0, 255]);
    }
  });

  it.each(['mp4', 'webm', 'mov'].flatMap((target) => ['gif', 'apng'].map((source) => [source, target] as const)))(
    'of %s is red as %s, which states its matrix',
    async (source, target) => {
      const { path } = await ground.to(await made(`hd.${source}`, ...red, ...(source === 'apng' ? ['-f', 'apng'] : [])), target);
      near(await pixelOf(path), [254, 0, 0, 255]);
      const { stdout } = await run('ffprobe', ['-v', 'error', '-show_entries', 'stream=color_space', '-of', 'csv=p=0', path]);
      expect(stdout.trim()).toBe('bt709');
    },
  );
});

/** @returns how many frames have lines of two moments, and how many are whole */
async function fieldsOf(path: string) {
  const { stderr } = await run('ffmpeg', ['-hide_banner', '-nostats', '-i', path, '-vf', 'idet', '-f', 'null', '-']);
  const [, first, second, whole] = /Multi frame detection: TFF: *(\d+) BFF: *(\d+) Progressive: *(\d+)/.exec(stderr) ?? [];
  return { combed: Number(first) + Number(second), whole: Number(whole) };
}

describe('an interlaced film', () => {
  const moving = ['-f', 'lavfi', '-i', 'testsrc2=s=320x240:r=50:d=1,interlace,format=yuv420p', '-flags', '+ilme+ildct'];
  const SOURCES = {
    mpg: ['-c:v', 'mpeg2video', '-q:v', '3'],
    mkv: [...x264, '-x264-params', 'tff=1:interlaced=1'],
  } as const;

  it.each([
    ['mpg', 'mp4', {}, 'whole'],
    ['mpg', 'webm', { deinterlace: 'auto' }, 'whole'],
    ['mkv', 'webm', {}, 'whole'],
    ['mkv', 'mp4', { video_crf: '20' }, 'whole'],
    ['mkv', 'mp4', { deinterlace: 'on' }, 'whole'],
    ['mpg', 'mp4', { deinterlace: 'off' }, 'combed'],
  ] as const)('as %s that becomes %s with %j has %4$s frames', async (source, target, fields, kind) => {
    const film = await made(`fields.${source}`, ...moving, ...SOURCES[source]);
    expect((await fieldsOf(film)).combed).toBeGreaterThan(20);
    const { path } = await ground.to(film, target, { ...fields });
    const found = await fieldsOf(path);
    expect(found[kind]).toBeGreaterThan(20);
    expect(found[kind === 'whole' ? 'combed' : 'whole']).toBe(0);
  });
});

describe('a film that is transparent on the left, green on the right, and red where it is transparent', () => {
  /** BT.601: red and green. */
  const planes = "lum='if(lt(X,32),81,145)':cb='if(lt(X/SW,32),90,54)':cr='if(lt(X/SW,32),240,34)':a='if(lt(X,32),0,255)'";
  const half = ['-f', 'lavfi', '-i', `color=c=black:s=64x64:r=10:d=0.4,format=yuva420p,geq=${planes}`];
  const film = (codec: string) =>
    made('half.webm', ...half, '-c:v', codec, '-deadline', 'realtime', '-cpu-used', '8', '-auto-alt-ref', '0', '-pix_fmt', 'yuva420p');
  const READS: Readonly<Record<string, readonly string[]>> = { webm: ['-c:v', 'libvpx-vp9'], mkv: ['-c:v', 'libvpx-vp9'] };

  it.each(['libvpx', 'libvpx-vp9'].flatMap((codec) => ['gif', 'webp', 'mov', 'png', 'apng'].map((target) => [codec, target] as const)))(
    'of %s stays so as %s',
    async (codec, target) => {
      const { path, job } = await ground.to(await film(codec), target);
      expect((await pixelOf(path, 0.1))[3]).toBe(0);
      near(await pixelOf(path, 0.9), [0, 255, 0, 255], 24);
      expect(job.warnings.filter(({ message }) => message.includes('transparency'))).toEqual([]);
    },
  );

  it('stays so where it is made smaller', async () => {
    const { path } = await ground.to(await film('libvpx-vp9'), 'webm', { video_width: '32' });
    expect((await pixelOf(path, 0.1, 0.5, READS['webm']))[3]).toBe(0);
  });

  it.each(['libvpx', 'libvpx-vp9'].flatMap((codec) => ['mp4', 'avi', 'jpg'].map((target) => [codec, target] as const)))(
    'of %s is on white as %s, and the job says so',
    async (codec, target) => {
      const { path, job } = await ground.to(await film(codec), target);
      near(await pixelOf(path, 0.1), [255, 255, 255, 255]);
      near(await pixelOf(path, 0.9), [0, 255, 0, 255], 24);
      expect(job.warnings.map(({ message }) => message)).toContain('This conversion from webm does not keep: transparency.');
    },
  );
});

describe('odd sides', () => {
  it.each(['gif', 'apng'])('of %s stay in WebM', async (source) => {
    const picture = await made(
      `odd.${source}`,
      '-f',
      'lavfi',
      '-i',
      // The other one has even sides.
      'testsrc=s=101x67:r=5:d=1',
      ...(source === 'apng' ? ['-f', 'apng'] : []),
    );
    const { path } = await ground.to(picture, 'webm');
    const { stdout } = await run('ffprobe', ['-v', 'error', '-show_entries', 'stream=width,height', '-of', 'csv=p=0', path]);
    expect(stdout.trim()).toBe('101,67');
  });
});
