/** Sound and video as people really have them, through HTTP, judged by what is in the result. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  bareVideo,
  clip,
  cutBeforeSound,
  fourChannels,
  sampled,
  titledOgg,
  turnedClip,
  unevenClip,
  wideAvi,
  withCover,
  withoutFrames,
} from '../../kit/fixtures/media/recordings.ts';
import { expectQuarters } from '../../kit/judges/pictures/quarters.ts';
import { convert, convertTo, type Service, untilEnded } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
let service: Pick<Service, 'url'>;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-recordings-'));
  service = await sharedService();
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});
const aFolder = () => mkdtemp(join(home, 'a-'));
const to = async (file: string, target: string, fields: Readonly<Record<string, string>> = {}) =>
  convertTo(service.url, home, file, target, fields);
const codes = (job: { warnings: readonly { code: string }[] }) => job.warnings.map(({ code }) => code);

interface Probed {
  readonly format: { readonly duration: string; readonly tags?: Readonly<Record<string, string>> };
  readonly streams: readonly Readonly<Record<string, unknown>>[];
}
async function probe(path: string): Promise<Probed> {
  const { stdout } = await run('ffprobe', ['-v', 'error', '-of', 'json', '-show_format', '-show_streams', path]);
  return JSON.parse(stdout) as Probed;
}

/** MD5 of the samples or packets of each chosen stream. */
async function hashes(path: string, ...args: readonly string[]): Promise<string[]> {
  const { stdout } = await run('ffmpeg', ['-v', 'error', '-i', path, ...args, '-f', 'streamhash', '-hash', 'md5', '-']);
  return [...stdout.matchAll(/MD5=(\w+)/g)].map(([, hash]) => hash ?? '');
}

/** The frame in the middle, upright as players show it. */
async function frameOf(path: string): Promise<string> {
  const frame = join(await aFolder(), 'frame.png');
  await run('ffmpeg', ['-v', 'error', '-i', path, '-frames:v', '1', frame]);
  return frame;
}

/** The loudest of some pitches in one channel, Hz. */
async function pitchOf(path: string, pitches: readonly number[], channel = 0): Promise<number | undefined> {
  const { stdout } = await run(
    'ffmpeg',
    ['-v', 'error', '-i', path, '-map', '0:a:0', '-af', `pan=mono|c0=c${channel}`, '-ar', '8000', '-f', 's16le', '-'],
    {
      encoding: 'buffer',
      maxBuffer: 1 << 26,
    },
  );
  const power = (hertz: number) => {
    let [sine, cosine] = [0, 0];
    for (let at = 2000; at < 6000; at++) {
      const sample = stdout.readInt16LE(at * 2);
      sine += sample * Math.sin((2 * Math.PI * hertz * at) / 8000);
      cosine += sample * Math.cos((2 * Math.PI * hertz * at) / 8000);
    }
    return Math.hypot(sine, cosine);
  };
  return [...pitches].sort((a, b) => power(b) - power(a))[0];
}

describe('sound', () => {
  it('of four channels stays four in FLAC, and becomes two in MP3', async () => {
    const file = await fourChannels(await aFolder());
    const { path } = await to(file, 'flac');
    expect(await hashes(path, '-c:a', 'pcm_s16le')).toEqual(await hashes(file, '-c:a', 'pcm_s16le'));
    for (const [channel, hertz] of [300, 500, 700, 900].entries()) expect(await pitchOf(path, [300, 500, 700, 900], channel)).toBe(hertz);
    expect((await probe((await to(file, 'mp3')).path)).streams).toMatchObject([{ codec_name: 'mp3', channels: 2 }]);
  });

  it('of six channels becomes two in MP3, and says so; its artist goes along to AIFF', async () => {
    const folder = await aFolder();
    const file = join(folder, 'six.flac');
    const tone = ['-f', 'lavfi', '-i', 'sine=440:d=1', '-ac', '6'];
    await promisify(execFile)('ffmpeg', ['-v', 'error', '-y', ...tone, '-metadata', 'artist=Anna Other', file]);
    const { job } = await convertTo(service.url, folder, file, 'mp3');
    expect(job.warnings).toEqual([{ code: 'lossy', message: 'The 6 channels of the recording were mixed to 2.' }]);
    const { path } = await convertTo(service.url, folder, file, 'aiff');
    const { stdout } = await promisify(execFile)('ffprobe', ['-v', 'error', '-show_entries', 'format_tags=artist', '-of', 'csv=p=0', path]);
    expect(stdout.trim()).toBe('Anna Other');
  });

  it('of 24 bits is the same bit by bit in FLAC and back in WAV', async () => {
    const file = await sampled(await aFolder(), 'pcm_s24le');
    const { path } = await to(file, 'flac');
    expect((await probe(path)).streams).toMatchObject([{ bits_per_raw_sample: '24' }]);
    const back = (await to(path, 'wav')).path;
    expect((await probe(back)).streams).toMatchObject([{ codec_name: 'pcm_s24le' }]);
    expect(await hashes(back, '-c:a', 'copy')).toEqual(await hashes(file, '-c:a', 'copy'));
  });

  it('of floating point keeps 24 bits in FLAC, and plays as MP3', async () => {
    const file = await sampled(await aFolder(), 'pcm_f32le');
    expect((await probe((await to(file, 'flac')).path)).streams).toMatchObject([{ bits_per_raw_sample: '24' }]);
    expect((await probe((await to(file, 'mp3')).path)).streams).toMatchObject([{ codec_name: 'mp3', sample_rate: '48000' }]);
  });

  it.each(['m4a', 'flac', 'mp3'])('keeps its cover and title in %s', async (target) => {
    const { path } = await to(await withCover(await aFolder()), target, target === 'mp3' ? { mp3_bitrate: '64' } : {});
    const { streams, format } = await probe(path);
    expect(streams).toMatchObject([{ codec_type: 'audio' }, { codec_type: 'video', disposition: { attached_pic: 1 } }]);
    expect(format.tags?.['title'] ?? format.tags?.['TITLE']).toBe('A song');
  });

  it.each(['mp3', 'm4a', 'flac', 'opus'])('of an Ogg keeps its title in %s', async (target) => {
    const { streams, format } = await probe((await to(await titledOgg(await aFolder()), target)).path);
    const tags = { ...(streams[0]?.['tags'] as object | undefined), ...format.tags } as Record<string, string>;
    expect(tags['title'] ?? tags['TITLE']).toBe('A song');
  });

  it.each(['m4a', 'mp3'])('that was cut off behind its cover is no result in %s', async (target) => {
    const { error } = await convert(service.url, await cutBeforeSound(await aFolder()), target);
    expect(error?.details['reason']).toBe('corrupt_input');
  });

  it('alone in an MP4 is sound', async () => {
    const folder = await aFolder();
    const file = join(folder, 'voice.mp4');
    await run('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', 'sine=frequency=440:duration=1', '-c:a', 'aac', file]);
    for (const target of ['mp3', 'm4a', 'wav']) expect(await pitchOf((await to(file, target)).path, [300, 440, 600]), target).toBe(440);
    const { error } = await convert(service.url, file, 'png');
    expect([error?.code, error?.details['reason']]).not.toEqual(['CONVERSION_FAILED', 'internal']);
  });
});

describe('a video', () => {
  it.each(['mkv', 'webm', 'avi', 'mp4', 'gif', 'png', 'jpg'])('that players turn is upright in %s', async (target) => {
    const { path } = await to(await turnedClip(await aFolder()), target);
    await expectQuarters(await frameOf(path), 'png', 45);
  });

  it('is stored lying: the judge is not blind', async () => {
    const file = await turnedClip(await aFolder());
    const frame = join(home, 'lying.png');
    await run('ffmpeg', ['-v', 'error', '-y', '-noautorotate', '-i', file, '-frames:v', '1', frame]);
    await expect(expectQuarters(frame, 'png', 45)).rejects.toThrow('not upright');
  });

  it.each([
    ['mp4', {}],
    ['webm', {}],
    ['mkv', { video_codec: 'h264' }],
    ['mpg', {}],
    ['wmv', {}],
    ['mov', { video_width: '96' }],
    ['gif', {}],
    ['png', {}],
    ['jpg', {}],
  ])('of pixels that are not square is shown as wide in %s', async (target, fields) => {
    const { streams } = await probe((await to(await wideAvi(await aFolder()), target, fields)).path);
    const { width, height, sample_aspect_ratio: pixel = '1:1' } = streams[0] as Record<string, string>;
    const [over = 1, under = 1] = pixel.split(':').map(Number);
    expect((Number(width) * over) / under / Number(height)).toBeCloseTo((2 * 96) / 64, 1);
    if (['gif', 'png', 'jpg', 'mov'].includes(target)) expect(over).toBe(under);
  });

  it.each(['mp4', 'mkv', 'png', 'gif'])('without a container is read as %s needs it', async (target) => {
    await expectQuarters(await frameOf((await to(await bareVideo(await aFolder()), target)).path), 'png', 45);
  });

  it('of uneven frames keeps their times', async () => {
    const times = async (path: string) => {
      const { stdout } = await run('ffprobe', [
        '-v',
        'error',
        '-select_streams',
        'v',
        '-show_entries',
        'frame=best_effort_timestamp_time',
        '-of',
        'csv=p=0',
        path,
      ]);
      return stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => Math.round(Number.parseFloat(line) * 10));
    };
    const file = await unevenClip(await aFolder());
    const wanted = await times(file);
    expect(wanted).toEqual([0, 1, 2, 5, 10, 15, 20, 25]);
    for (const target of ['webm', 'mkv'])
      expect(await times((await to(file, target, { video_codec: target === 'webm' ? 'vp8' : 'h264' })).path), target).toEqual(wanted);
  });

  it('of an odd size becomes even where the codec wants it', async () => {
    const file = await clip(await aFolder(), 'odd.mkv', 1, ['-vf', 'scale=97:65', '-pix_fmt', 'yuv444p', '-c:v', 'ffv1']);
    expect((await probe((await to(file, 'mp4')).path)).streams).toMatchObject([
      { width: 96, height: 64, pix_fmt: 'yuv420p' },
      { codec_type: 'audio' },
    ]);
  });

  it('without sound stays without, and has none to give', async () => {
    const file = await clip(await aFolder(), 'silent.mp4', 1, [], []);
    expect((await probe((await to(file, 'webm')).path)).streams).toHaveLength(1);
    expect((await convert(service.url, file, 'mp3')).error?.details['reason']).toBe('no_stream');
  });

  it('of two sound tracks gives the requested one', async () => {
    const file = await clip(await aFolder(), 'two.mkv', 2, ['-c:a', 'aac'], [440, 880]);
    expect(await pitchOf((await to(file, 'mp3')).path, [440, 660, 880])).toBe(440);
    expect(await pitchOf((await to(file, 'wav', { track: '2' })).path, [440, 660, 880])).toBe(880);
    expect((await convert(service.url, file, 'mp3', { track: '3' })).error?.details['reason']).toBe('no_stream');
    const { path, job } = await to(file, 'flv');
    expect((await probe(path)).streams).toHaveLength(2);
    expect(codes(job)).toContain('streams_dropped');
  });

  it('goes from MP4 to MKV packet by packet', async () => {
    const file = await clip(await aFolder(), 'plain.mp4', 2, ['-c:a', 'aac'], [440, 880]);
    const { path } = await to(file, 'mkv');
    const copied = ['-map', '0', '-c', 'copy'];
    expect(await hashes(path, ...copied)).toEqual(await hashes(file, ...copied));
  });

  it.each([
    ['empty.mp4', 'webm'],
    ['empty.mkv', 'mp4'],
    ['empty.mkv', 'png'],
    ['empty.mkv', 'gif'],
    ['empty.avi', 'mp4'],
  ])('without frames (%s) to %s is the fault of the file', async (name, target) => {
    const answer = await convert(service.url, await withoutFrames(await aFolder(), name), target);
    expect(['corrupt_input', 'no_stream', undefined], `${JSON.stringify(answer.error)}`).toContain(answer.error?.details['reason']);
    expect(answer.error?.code).toMatch(/^(CONVERSION_FAILED|UNSUPPORTED_MIME)$/);
  });
});

describe('progress', () => {
  it('of a longer video rises, and a picture has none', async () => {
    const folder = await aFolder();
    const file = join(folder, 'long.mp4');
    await run('ffmpeg', [
      '-v',
      'error',
      '-f',
      'lavfi',
      '-i',
      'testsrc2=size=640x360:rate=30:duration=15',
      '-c:v',
      'libx264',
      '-preset',
      'ultrafast',
      file,
    ]);
    const { data } = await convert(service.url, file, 'webm', {}, { Prefer: 'respond-async' });
    expect(data?.status).toBe('processing');
    const seen: number[] = [];
    for (;;) {
      const { data: job } = (await (await fetch(`${service.url}/api/v1/jobs/${data?.job_id}`)).json()) as {
        data?: { status: string; progress?: number };
      };
      if (job?.progress !== undefined) seen.push(job.progress);
      if (job?.status !== 'processing') break;
      await new Promise((done) => setTimeout(done, 30));
    }
    expect(new Set(seen).size).toBeGreaterThan(2);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(seen.every((progress) => Number.isInteger(progress) && progress >= 0 && progress <= 99)).toBe(true);
    expect((await untilEnded(service.url, data?.job_id ?? '')).data).not.toHaveProperty('progress');
  });
});
