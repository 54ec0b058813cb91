/** What each option of sound and video does to the recording, through HTTP, judged by ffprobe, by samples and by frames. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ARTIST } from '../../kit/fixtures/pictures/photos.ts';
import { decode } from '../../kit/judges/pictures/pixels.ts';
import { colourAt } from '../../kit/judges/pictures/quarters.ts';
import { convert, convertTo, type Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
type Fields = Readonly<Record<string, string>>;

let service: Pick<Service, 'url'>;
let home: string;
/** Four seconds, hiss in the last two: what asks for few bits, then for many. */
let sound: string;
/** Four seconds of 96 × 64 px at 10 frames a second, darker to lighter, with a tone. */
let film: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-options-'));
  service = await sharedService();
  [sound, film] = [join(home, 'sound.wav'), join(home, 'film.mp4')];
  const hiss = ['-f', 'lavfi', '-i', 'anoisesrc=duration=4:seed=7:amplitude=0.4:sample_rate=44100'];
  await ffmpeg(...hiss, '-af', "volume='if(lt(t,2),0.001,1)':eval=frame", '-ac', '2', '-metadata', `artist=${ARTIST}`, sound);
  const grey = "nullsrc=size=96x64:rate=10:duration=4,geq=lum='20+50*floor(T)':cb=128:cr=128";
  const tone = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000:duration=4'];
  const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-b:a', '128k'];
  await ffmpeg('-f', 'lavfi', '-i', grey, ...tone, ...h264, '-metadata', `artist=${ARTIST}`, '-metadata', 'location=+51.5-000.1/', film);
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});
const ffmpeg = (...args: readonly string[]) => run('ffmpeg', ['-v', 'error', '-y', ...args]);
const aFolder = () => mkdtemp(join(home, 'a-'));
const to = (file: string, target: string, fields: Fields = {}) => convertTo(service.url, home, file, target, fields);
const codes = (job: { warnings: readonly { code: string }[] }) => job.warnings.map(({ code }) => code);

interface Stream {
  readonly codec_name: string;
  readonly codec_type: string;
  readonly width?: number;
  readonly height?: number;
  readonly sample_rate?: string;
  readonly channels?: number;
  readonly bit_rate?: string;
  readonly avg_frame_rate?: string;
  readonly nb_read_frames?: string;
}
interface Probed {
  readonly format: { readonly duration: string; readonly tags?: Readonly<Record<string, string>> };
  readonly streams: readonly Stream[];
}
async function probe(path: string): Promise<Probed> {
  const { stdout } = await run('ffprobe', ['-v', 'error', '-of', 'json', '-count_frames', '-show_format', '-show_streams', path]);
  return JSON.parse(stdout) as Probed;
}
const streamOf = async (path: string, type: 'audio' | 'video') => (await probe(path)).streams.find((stream) => stream.codec_type === type);

describe('mp3_mode, mp3_quality and mp3_bitrate', () => {
  /** The tag that LAME's front ends leave in the first frame: `Info` where all frames are of one size, `Xing` where not. (gabriel.mp3-tech.org/mp3infotag.html) */
  async function encodedAs(fields: Fields, target = 'mp3') {
    const { path, job } = await to(sound, target, fields);
    const bytes = await readFile(path);
    const [info, xing] = ['Info', 'Xing'].map((tag) => bytes.subarray(0, 2_000).includes(tag));
    return { tag: info ? 'Info' : xing ? 'Xing' : '', kbits: Math.round(((await stat(path)).size * 8) / 4_000), warnings: codes(job) };
  }

  it.each(['32', '128', '192', '320'])('cbr gives every frame %s kbit/s', async (kbits) => {
    const { path } = await to(sound, 'mp3', { mp3_mode: 'cbr', mp3_bitrate: kbits });
    expect(Number((await streamOf(path, 'audio'))?.bit_rate)).toBe(Number(kbits) * 1000);
    expect(await encodedAs({ mp3_mode: 'cbr', mp3_bitrate: kbits })).toMatchObject({ tag: 'Info' });
  });

  it('cbr is 192 kbit/s unless asked otherwise, and what a bit rate alone asks for', async () => {
    expect(await encodedAs({ mp3_mode: 'cbr' })).toMatchObject({ tag: 'Info', kbits: expect.closeTo(194, -1) });
    expect(await encodedAs({ mp3_bitrate: '64' })).toMatchObject({ tag: 'Info', kbits: expect.closeTo(65, -1) });
  });

  it('abr gives frames of different sizes, and about that rate together', async () => {
    const [low, high] = [await encodedAs({ mp3_mode: 'abr', mp3_bitrate: '64' }), await encodedAs({ mp3_mode: 'ABR', mp3_bitrate: '160' })];
    expect([low.tag, high.tag]).toEqual(['Xing', 'Xing']);
    expect([Math.abs(low.kbits - 64) < 16, Math.abs(high.kbits - 160) < 45], `${low.kbits} ${high.kbits}`).toEqual([true, true]);
  });

  it('vbr spends the more the better, and is what happens by default at 2', async () => {
    const [best, second, byDefault, worst] = [
      await encodedAs({ mp3_quality: '0' }),
      await encodedAs({ mp3_mode: 'vbr', mp3_quality: '2' }),
      await encodedAs({}),
      await encodedAs({ mp3_quality: '9' }),
    ];
    expect(new Set([best.tag, second.tag, worst.tag])).toEqual(new Set(['Xing']));
    expect(best.kbits).toBeGreaterThan(second.kbits);
    expect(second.kbits).toBeGreaterThan(worst.kbits);
    expect(byDefault).toEqual(second);
  });

  it('that belong to another mode are without effect, and their client is told', async () => {
    expect((await encodedAs({ mp3_mode: 'vbr', mp3_bitrate: '64' })).warnings).toEqual(['option_ignored']);
    expect((await encodedAs({ mp3_mode: 'cbr', mp3_quality: '3' })).warnings).toEqual(['option_ignored']);
    expect((await encodedAs({ mp3_mode: 'abr', mp3_quality: '3', mp3_bitrate: '96' })).warnings).toEqual(['option_ignored']);
    expect(codes((await to(sound, 'flac', { mp3_mode: 'cbr' })).job)).toEqual(['option_ignored']);
    // A default that is sent asks for nothing.
    expect(codes((await to(sound, 'flac', { mp3_mode: 'vbr', img_quality: '80' })).job)).toEqual([]);
    expect(codes((await to(sound, 'mp3', { mp3_mode: 'cbr', mp3_quality: '2' })).job)).toEqual([]);
  });
});

describe('wav_rate, wav_depth and wav_channels', () => {
  const sampled = async (fields: Fields, file = sound) => {
    const found = await streamOf((await to(file, 'wav', fields)).path, 'audio');
    return [found?.codec_name, Number(found?.sample_rate), found?.channels];
  };

  it.each([
    ['8', 'pcm_u8'],
    ['16', 'pcm_s16le'],
    ['24', 'pcm_s24le'],
    ['32', 'pcm_s32le'],
  ])('write samples of %s bits', async (wav_depth, codec) => expect(await sampled({ wav_depth })).toEqual([codec, 44_100, 2]));

  it.each([8000, 22_050, 192_000])('write %i samples a second', async (rate) =>
    expect(await sampled({ wav_rate: `${rate}` })).toEqual(['pcm_s16le', rate, 2]),
  );

  it.each([1, 2, 3, 8])('write %i channels', async (channels) =>
    expect(await sampled({ wav_channels: `${channels}` })).toEqual(['pcm_s16le', 44_100, channels]),
  );

  it('are the source’s own by default, and 16 bits from what loses', async () => {
    const folder = await aFolder();
    const [fine, lossy] = [join(folder, 'fine.flac'), join(folder, 'lossy.opus')];
    await ffmpeg('-i', sound, '-c:a', 'flac', '-sample_fmt', 's32', '-ar', '96000', '-ac', '1', fine);
    await ffmpeg('-i', sound, '-c:a', 'libopus', lossy);
    expect(await sampled({}, fine)).toEqual(['pcm_s24le', 96_000, 1]);
    expect(await sampled({}, lossy)).toEqual(['pcm_s16le', 48_000, 2]);
  });

  it('are not those of another target', async () => {
    expect(codes((await to(sound, 'flac', { wav_depth: '8' })).job)).toEqual(['option_ignored']);
    expect(codes((await to(sound, 'wav', { audio_rate: '8000' })).job)).toEqual(['option_ignored']);
  });
});

describe('audio_bitrate, audio_rate and audio_channels', () => {
  it.each(['m4a', 'ogg', 'opus', 'ac3', 'wma', 'mp2'])(
    'audio_bitrate decides on the size of a %s, 192 kbit/s by default',
    async (target) => {
      const bytes: number[] = [];
      for (const fields of [{ audio_bitrate: '32' }, {}, { audio_bitrate: '192' }, { audio_bitrate: '512' }])
        bytes.push((await stat((await to(sound, target, fields as Fields)).path)).size);
      const [low = 0, byDefault = 0, said = 0, high = 0] = bytes;
      expect(Math.abs(byDefault - said)).toBeLessThan(200);
      expect([low < byDefault * 0.6, byDefault < high], `${bytes}`).toEqual([true, true]);
    },
  );

  it.each(['flac', 'aiff', 'wv', 'spx'])('audio_bitrate has no effect on a %s, and its client is told', async (target) =>
    expect(codes((await to(sound, target, { audio_bitrate: '64' })).job)).toContain('option_ignored'),
  );

  it.each([
    ['m4a', '22050', 22_050],
    ['m4a', '192000', 96_000],
    ['flac', '8000', 8000],
    ['ogg', '192000', 192_000],
    ['mp3', '8000', 8000],
    ['ac3', '8000', 32_000],
  ])('audio_rate of a %s: %s becomes what the codec has', async (target, audio_rate, hertz) =>
    expect(Number((await streamOf((await to(sound, target, { audio_rate })).path, 'audio'))?.sample_rate)).toBe(hertz),
  );

  it('audio_rate has no effect on Opus, which has one', async () => {
    for (const [file, target] of [
      [sound, 'opus'],
      [film, 'webm'],
    ] as const)
      expect(codes((await to(file, target, { audio_rate: '8000' })).job), target).toEqual(['option_ignored']);
  });

  it.each(['m4a', 'opus', 'flac'])('audio_channels are as many as asked for in a %s', async (target) => {
    for (const channels of [1, 3, 4, 7, 8])
      expect((await streamOf((await to(sound, target, { audio_channels: `${channels}` })).path, 'audio'))?.channels).toBe(channels);
  });

  it('audio_channels are as many as the codec has', async () => {
    for (const [target, most] of [
      ['mp3', 2],
      ['ac3', 6],
      ['wma', 2],
    ] as const)
      expect((await streamOf((await to(sound, target, { audio_channels: '8' })).path, 'audio'))?.channels, target).toBe(most);
  });

  it('change the sound of a video, and leave its picture alone', async () => {
    const { path } = await to(film, 'mkv', { audio_bitrate: '32', audio_rate: '24000', audio_channels: '2' });
    expect(await streamOf(path, 'audio')).toMatchObject({ codec_name: 'aac', sample_rate: '24000', channels: 2 });
    const packets = async (file: string) =>
      (await run('ffmpeg', ['-v', 'error', '-i', file, '-map', '0:v', '-c', 'copy', '-f', 'streamhash', '-hash', 'md5', '-'])).stdout;
    expect(await packets(path)).toBe(await packets(film));
    expect((await streamOf((await to(film, 'webm', { audio_channels: '3', video_codec: 'vp8' })).path, 'audio'))?.channels).toBe(3);
  });
});

describe('video_codec', () => {
  it.each([
    ['mp4', 'h264', 'h264'],
    ['mp4', 'h265', 'hevc'],
    ['mp4', 'av1', 'av1'],
    ['mov', 'mpeg4', 'mpeg4'],
    ['webm', 'vp8', 'vp8'],
    ['webm', 'vp9', 'vp9'],
    ['mkv', 'mpeg2', 'mpeg2video'],
    ['mkv', 'theora', 'theora'],
    ['wmv', 'wmv2', 'wmv2'],
    ['mp4', 'H265', 'hevc'],
  ])('in a %s is %s where asked for', async (target, video_codec, codec) => {
    const { path, job } = await to(film, target, { video_codec, start_time: '3' });
    expect((await streamOf(path, 'video'))?.codec_name).toBe(codec);
    expect(codes(job)).toEqual([]);
  });

  it.each([
    ['webm', 'h264'],
    ['mp4', 'wmv2'],
    ['avi', 'vp9'],
    ['flv', 'h265'],
    ['wmv', 'h264'],
    ['3gp', 'av1'],
    ['ogv', 'vp8'],
    ['mpg', 'mpeg4'],
  ])('that a %s cannot hold (%s) is refused before anything is stored', async (target, video_codec) => {
    const { status, error } = await convert(service.url, film, target, { video_codec }, { prefer: 'respond-async' });
    expect([status, error?.code]).toEqual([400, 'INVALID_OPTION']);
    expect(error?.details).toMatchObject({
      option: 'video_codec',
      received: video_codec,
      allowed: expect.stringContaining(`for ${target} one of`),
    });
  });

  it('has no effect on sound or a picture', async () => {
    for (const target of ['mp3', 'gif', 'png'])
      expect(codes((await to(film, target, { video_codec: 'h264' })).job), target).toContain('option_ignored');
  });
});

describe('video_crf', () => {
  it.each([
    ['mp4', 'h264'],
    ['mp4', 'h265'],
    ['mp4', 'av1'],
    ['webm', 'vp9'],
    ['webm', 'vp8'],
    ['mkv', 'mpeg4'],
    ['mkv', 'mpeg2'],
    ['ogv', 'theora'],
    ['wmv', 'wmv2'],
  ])('decides on the size of a %s in %s, and is 23 by default', async (target, video_codec) => {
    const file = join(await aFolder(), 'busy.mp4');
    const busy = ['-f', 'lavfi', '-i', 'testsrc2=size=192x128:rate=10:duration=1', '-vf', 'noise=alls=20:allf=t'];
    await ffmpeg(...busy, '-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '10', '-pix_fmt', 'yuv420p', file);
    const size = async (fields: Fields) => (await stat((await to(file, target, { video_codec, video_width: '192', ...fields })).path)).size;
    const [best, said, byDefault, worst] = [
      await size({ video_crf: '0' }),
      await size({ video_crf: '23' }),
      await size({}),
      await size({ video_crf: '51' }),
    ];
    expect(Math.abs(byDefault - said)).toBeLessThan(said / 50);
    expect([best > said, said > worst], `${[best, said, worst]}`).toEqual([true, true]);
  });
});

describe('video_width, video_height and video_fps', () => {
  it.each(['mp4', 'gif'])('keep the ratio where one is given, and are exact where both are: %s', async (target) => {
    for (const [fields, wanted] of [
      [{ video_width: '48' }, [48, 32]],
      [{ video_height: '128' }, [192, 128]],
      [{ video_width: '64', video_height: '64' }, [64, 64]],
      [{ video_width: '16', video_height: '16' }, [16, 16]],
      [{}, [96, 64]],
    ] as const) {
      const found = await streamOf((await to(film, target, { ...fields, start_time: '3' } as Fields)).path, 'video');
      expect([found?.width, found?.height], JSON.stringify(fields)).toEqual(wanted);
    }
  });

  it.each(['h264', 'h265', 'av1', 'vp9', 'mpeg4', 'mpeg2', 'theora'])(
    'give a video that plays, or a reason, where %s is small',
    async (video_codec) => {
      for (const fields of [{ video_width: '16' }, { video_width: '16', video_height: '16' }, { video_width: '18', video_height: '33' }]) {
        const { data, error } = await convert(service.url, film, 'mkv', { ...fields, video_codec, start_time: '3' } as Fields);
        if (error !== undefined) {
          expect(error.details).toMatchObject({ reason: 'input_limit', min: expect.any(Number), received: expect.any(Number) });
          continue;
        }
        const path = join(await aFolder(), 'small.mkv');
        await writeFile(path, Buffer.from(await (await fetch(data?.output?.url ?? '')).arrayBuffer()));
        expect(Number((await streamOf(path, 'video'))?.nb_read_frames), JSON.stringify(fields)).toBeGreaterThan(0);
      }
    },
  );

  it('whose other side would leave 16383 px are refused', async () => {
    const thin = join(await aFolder(), 'thin.mp4');
    await ffmpeg('-f', 'lavfi', '-i', 'testsrc=size=16x80:rate=5:duration=1', '-pix_fmt', 'yuv420p', thin);
    const { error } = await convert(service.url, thin, 'mkv', { video_width: '7680' });
    expect(error?.details).toMatchObject({ reason: 'input_limit', max: 16_383, received: 38_400 });
  });

  it.each(['mp4', 'webm', 'gif', 'wmv'])('give as many frames a second as asked for, and no other length: %s', async (target) => {
    for (const fps of [1, 24]) {
      const { streams, format } = await probe((await to(film, target, { video_fps: `${fps}` })).path);
      const frames = Number(streams.find(({ codec_type: type }) => type === 'video')?.nb_read_frames);
      expect(Math.abs(frames - 4 * fps), `${frames} frames at ${fps} a second`).toBeLessThanOrEqual(1);
      expect(Math.abs(Number(format.duration) - 4)).toBeLessThan(0.3);
    }
  });

  it('take the source’s rate by default, and a GIF ten', async () => {
    const quick = join(await aFolder(), 'quick.mkv');
    await ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=96x64:rate=20:duration=2', '-c:v', 'libx264', '-preset', 'ultrafast', quick);
    for (const [target, frames] of [
      ['webm', '40'],
      ['gif', '20'],
    ])
      expect((await streamOf((await to(quick, target ?? '')).path, 'video'))?.nb_read_frames, target).toBe(frames);
  });
});

describe('start_time and end_time', () => {
  const seconds = async (path: string) => Number((await probe(path)).format.duration);
  /** Which of the four seconds a picture is from. */
  const secondOf = async (path: string, format: string) => {
    const [found] = await decode(path, format);
    return found && Math.abs(Math.round(((colourAt(found, 0.5, 0.5)[0] * 219) / 255 + 16 - 20) / 50));
  };

  it.each(['mp4', 'mp3', 'gif', 'wav'])('cut a stretch out of a recording, in either notation: %s', async (target) => {
    for (const [fields, wanted] of [
      [{ start_time: '1.5' }, 2.5],
      [{ end_time: '1.5' }, 1.5],
      [{ start_time: '1', end_time: '2.25' }, 1.25],
      [{ start_time: '00:00:01', end_time: '00:00:02.250' }, 1.25],
      [{ start_time: '0' }, 4],
    ] as const) {
      const { path, job } = await to(film, target, fields as Fields);
      expect(Math.abs((await seconds(path)) - wanted), JSON.stringify(fields)).toBeLessThan(0.15);
      expect(codes(job)).not.toContain('end_past_end');
    }
  });

  it('begin where they say', async () => {
    const { path } = await to(film, 'mp4', { start_time: '2', end_time: '3' });
    const frame = join(await aFolder(), 'first.png');
    await ffmpeg('-i', path, '-frames:v', '1', frame);
    expect(await secondOf(frame, 'png')).toBe(2);
  });

  it.each(['png', 'jpg'])('choose the frame that becomes a %s, the first by default', async (target) => {
    for (const [fields, second] of [
      [{}, 0],
      [{ start_time: '1.5' }, 1],
      [{ start_time: '00:00:03' }, 3],
      [{ start_time: '3.95' }, 3],
    ] as const)
      expect(await secondOf((await to(film, target, fields as Fields)).path, target), JSON.stringify(fields)).toBe(second);
    expect(codes((await to(film, target, { end_time: '2' })).job)).toEqual(['option_ignored']);
  });

  it('past the end: an end is a warning, a start leaves nothing', async () => {
    for (const target of ['mp4', 'mp3', 'gif']) {
      const { path, job } = await to(film, target, { start_time: '3', end_time: '00:01:00' });
      expect(codes(job)).toContain('end_past_end');
      expect(Math.abs((await seconds(path)) - 1)).toBeLessThan(0.15);
      const { status, error } = await convert(service.url, film, target, { start_time: '4.5' });
      expect([status, error?.code, error?.details['option'], error?.details['received']]).toEqual([
        400,
        'INVALID_OPTION',
        'start_time',
        '4.5',
      ]);
      expect(error?.message).toMatch(/^The recording is 4(\.\d+)? seconds long; start_time is 4\.5 seconds\.$/);
    }
  });
});

describe('strip_metadata', () => {
  it.each(['mp4', 'mkv', 'mp3', 'm4a', 'flac', 'wav'])(
    'takes names and places out of a %s, and they stay unless it is asked for',
    async (target) => {
      const has = async (fields: Fields) => (await readFile((await to(film, target, fields)).path)).includes(ARTIST);
      expect([await has({}), await has({ strip_metadata: 'false' }), await has({ strip_metadata: 'true' })]).toEqual([true, true, false]);
      expect((await readFile((await to(film, target, { strip_metadata: 'on' })).path)).includes('+51.5')).toBe(false);
    },
  );
});

it('track has no effect on a video, and its client is told', async () => {
  expect(codes((await to(film, 'mkv', { track: '2' })).job)).toEqual(['option_ignored']);
});
