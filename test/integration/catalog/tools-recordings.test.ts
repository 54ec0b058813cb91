/** What the tools for recordings do without any model, over HTTP, judged by samples: how much of what is left is what was there before it was mixed. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool, outputOf } from '../../kit/api/tools.ts';
import type { Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
const RATE = 44_100;

let service: Pick<Service, 'url'>;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-recordings-'));
  service = await sharedService();
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

/** Debian's pocketsphinx-testdata: a chapter of Sense and Sensibility, read for LibriVox. */
const VOICES = '/usr/share/pocketsphinx/test/data/librivox';
const samples = (seconds: number, at: (time: number) => number) =>
  Int16Array.from({ length: seconds * RATE }, (_, i) => Math.max(-32_768, Math.min(32_767, Math.round(at(i / RATE)))));
const tone = (pitch: number, time: number, overtones: number): number => {
  let sum = 0;
  for (let n = 1; n <= overtones; n++) sum += Math.sin(2 * Math.PI * pitch * n * time) / n;
  return sum;
};
/** Words with pauses, of a pitch that moves. */
const voice = samples(4, (t) => (Math.floor(t * 2) % 2 === 0 ? 5000 * tone(220, t + Math.sin(2 * Math.PI * 5 * t) / 1500, 10) : 0));
const both = (left: Int16Array, right: Int16Array) =>
  Int16Array.from({ length: left.length * 2 }, (_, i) => (i % 2 ? right : left)[i >> 1] as number);
const sum = (a: Int16Array, b: Int16Array) => a.map((value, i) => Math.max(-32_768, Math.min(32_767, value + (b[i] as number))));

/** @param part of the chapter, a few seconds long */
const spoken = (part: string): Promise<Int16Array> => samplesOf(`${VOICES}/sense_and_sensibility_01_austen_64kb-${part}.wav`, 1);

/** How much later the first sound is heard than the first picture is shown, s. */
async function soundAfterPicture(path: string): Promise<number> {
  const probe = ['-v', 'error', '-select_streams', 'v', '-show_entries', 'stream=start_time', '-of', 'csv=p=0', path];
  const picture = Number.parseFloat((await run('ffprobe', probe)).stdout);
  const filter = ['-copyts', '-i', path, '-map', '0:a', '-af', 'silencedetect=n=-30dB:d=0.02', '-f', 'null', '-'];
  const { stderr } = await run('ffmpeg', ['-hide_banner', '-nostats', ...filter], { maxBuffer: 1 << 24 });
  const starts = await run(
    'ffprobe',
    probe.map((arg) => (arg === 'v' ? 'a' : arg)),
  );
  const [, silent] = /silence_start: (\S+)/.exec(stderr) ?? [];
  const [, heard] = /silence_end: (\S+)/.exec(stderr) ?? [];
  const start = Number.parseFloat(starts.stdout);
  // A recording that does not begin with silence begins with sound.
  return (silent !== undefined && Number(silent) < start + 0.05 ? Number(heard) : start) - picture;
}

let count = 0;
/** @param args of FFmpeg, after the input */
async function recorded(name: string, pcm: Int16Array, channels: number, ...args: readonly string[]): Promise<string> {
  const [raw, path] = [join(home, `${++count}.raw`), join(home, `${count}-${name}`)];
  await writeFile(raw, pcm);
  await run('ffmpeg', ['-v', 'error', '-f', 's16le', '-ar', `${RATE}`, '-ac', `${channels}`, '-i', raw, ...args, path]);
  return path;
}
async function samplesOf(path: string, channels: number): Promise<Int16Array> {
  const { stdout } = await run('ffmpeg', ['-v', 'error', '-i', path, '-vn', '-f', 's16le', '-ar', `${RATE}`, '-ac', `${channels}`, '-'], {
    encoding: 'buffer',
    maxBuffer: 1 << 26,
  });
  return new Int16Array(stdout.buffer.slice(stdout.byteOffset, stdout.byteOffset + stdout.length));
}
async function use(slug: string, file: string, fields: Record<string, string> = {}) {
  const answer = await callTool(service, slug, file, fields);
  const path = join(home, `${++count}-${answer.data?.output?.filename}`);
  await writeFile(path, await outputOf(service, answer));
  if (answer.data === undefined) throw new Error('no job');
  return { path, job: answer.data };
}

/** How much louder what is wanted is than what differs from it, dB. @param late samples by which the second begins later, which are tried */
function ratio(wanted: Int16Array, found: Int16Array, late: readonly number[] = [0]): number {
  const of = (shift: number) => {
    let [power, error] = [0, 1];
    for (let i = 4000; i < wanted.length - 4000; i++) {
      power += (wanted[i] as number) ** 2;
      error += ((wanted[i] as number) - (found[i + shift] ?? 0)) ** 2;
    }
    return 10 * Math.log10(power / error);
  };
  return Math.max(...late.map(of));
}

describe('noise-reduction', () => {
  /** Uniform, the same each time (a linear congruential generator, Numerical Recipes). */
  const noise = (() => {
    let state = 7;
    return samples(4, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return (state / 2 ** 32 - 0.5) * 2400;
    });
  })();
  const noisy = sum(voice, noise);

  it('leaves the voice in its place, with 4 dB less beside it', async () => {
    const { path, job } = await use('noise-reduction', await recorded('noisy.wav', noisy, 1), { model: 'classical' });
    expect(job.engine).toMatchObject({ name: 'classical' });
    expect(path).toMatch(/\.wav$/);
    const result = await samplesOf(path, 1);
    expect(Math.abs(result.length - voice.length)).toBeLessThan(100);
    expect(ratio(voice, result, [-2, -1, 0, 1, 2])).toBeGreaterThan(ratio(voice, noisy) + 4);
    const pause = (all: Int16Array) => Math.sqrt(all.subarray(0.7 * RATE, 0.9 * RATE).reduce((power, value) => power + value ** 2, 0));
    expect(pause(result)).toBeLessThan(pause(noisy) / 5);
  });

  it("copies a video's picture", async () => {
    const picture = ['-f', 'lavfi', '-i', 'testsrc=s=160x120:r=10:d=4', '-map', '1:v', '-map', '0:a', '-c:v', 'libx264', '-c:a', 'aac'];
    const video = await recorded('noisy.mp4', noisy, 1, ...picture);
    const { path } = await use('noise-reduction', video, { model: 'classical' });
    const streamOf = async (file: string) =>
      (await run('ffmpeg', ['-v', 'error', '-i', file, '-map', '0:v', '-c', 'copy', '-f', 'streamhash', '-'])).stdout;
    expect(await streamOf(path)).toBe(await streamOf(video));
    expect(
      ratio(
        voice,
        await samplesOf(path, 1),
        Array.from({ length: 9 }, (_, i) => i - 4),
      ),
    ).toBeGreaterThan(ratio(voice, noisy) + 2);
  });

  it('leaves speech alone, by a model, unless the classical method is asked for', async () => {
    const clean = await spoken('0870');
    const babble = Int16Array.from(
      clean,
      (_, i) => 900 * Math.sin(i / 9 + 40 * Math.sin(i / 3000)) + 500 * Math.sin(i / 3 + 9 * Math.sin(i / 500)),
    );
    const mixed = await recorded('mixed.flac', sum(clean, babble), 1);
    const results = new Map<string, number>();
    for (const model of ['deepfilternet3', 'classical']) {
      const { path, job } = await use('noise-reduction', mixed, model === 'classical' ? { model } : {});
      expect([job.engine?.name, job.warnings]).toEqual([model, []]);
      const result = await samplesOf(path, 1);
      expect(Math.abs(result.length - clean.length)).toBeLessThan(100);
      results.set(model, ratio(clean, result, [-2, -1, 0, 1, 2]));
    }
    // A sound that moves is not steady.
    expect(results.get('classical')).toBeLessThan(ratio(clean, sum(clean, babble)) + 2);
    expect(results.get('deepfilternet3')).toBeGreaterThan(ratio(clean, sum(clean, babble)) + 4);
  });

  it('keeps what each channel says, rate and precision, and where the sound begins in a video', async () => {
    const left = await spoken('0880');
    const right = left.map((_, i) => Math.round((left[(i + 2 * RATE) % left.length] as number) / 2));
    const stereo = await recorded('stereo.wav', both(left, right), 2, '-c:a', 'pcm_s24le');
    const { path } = await use('noise-reduction', stereo);
    const { stdout } = await run('ffprobe', [
      '-v',
      'error',
      '-show_entries',
      'stream=codec_name,sample_rate,channels',
      '-of',
      'csv=p=0',
      path,
    ]);
    expect(stdout.trim()).toBe(`pcm_s24le,${RATE},2`);
    const found = await samplesOf(path, 2);
    const channel = (all: Int16Array, at: number) => Int16Array.from({ length: all.length / 2 }, (_, i) => all[2 * i + at] as number);
    expect(ratio(left, channel(found, 0), [-1, 0, 1])).toBeGreaterThan(8);
    expect(ratio(right, channel(found, 1), [-1, 0, 1])).toBeGreaterThan(8);

    const picture = ['-f', 'lavfi', '-i', 'testsrc=s=160x120:r=10:d=8', '-map', '1:v', '-map', '0:a'];
    const video = await recorded('late.mkv', left, 1, ...picture, '-af', 'asetpts=PTS+1.5/TB', '-c:v', 'libx264', '-c:a', 'flac');
    const late = await samplesOf((await use('noise-reduction', video)).path, 1);
    expect(ratio(left, late.subarray(1.5 * RATE), [-40, -20, 0, 20, 40])).toBeGreaterThan(5);
  });

  it.each(['ts', 'mpg', 'mkv'])('keeps sound and picture of %s together, whichever begins first', async (format) => {
    const words = await spoken('0870');
    const seen = ['-f', 'lavfi', '-i', 'testsrc=s=160x120:r=25:d=5', '-map', '1:v', '-map', '0:a', '-c:v', 'mpeg2video', '-c:a', 'mp2'];
    for (const [sound, picture] of [
      [1.5, 0],
      [0, 1],
    ]) {
      const shift = ['-ar', '48000', '-af', `asetpts=PTS+${sound}/TB`, '-vf', `setpts=PTS+${picture}/TB`, '-fps_mode', 'passthrough'];
      const film = await recorded(`film.${format}`, words, 1, ...seen, ...shift);
      const { path } = await use('noise-reduction', film);
      expect(Math.abs((await soundAfterPicture(path)) - (await soundAfterPicture(film))), `${sound} ${picture}`).toBeLessThan(0.1);
    }
  });

  it('keeps the places of channels, and that for low frequencies as it is', async () => {
    const words = await spoken('0870');
    const joined = (count: number, layout: string) => {
      const names = Array.from({ length: count }, (_, i) => `[c${i}]`).join('');
      return ['-filter_complex', `[0]asplit=${count}${names};${names}join=inputs=${count}:channel_layout=${layout}`, '-c:a', 'flac'];
    };
    const channel = async (file: string, at: number) => {
      const args = ['-v', 'error', '-i', file, '-filter:a', `pan=mono|c0=c${at}`, '-f', 's16le', '-ar', `${RATE}`, '-'];
      const { stdout } = await run('ffmpeg', args, { encoding: 'buffer', maxBuffer: 1 << 26 });
      return new Int16Array(stdout.buffer.slice(stdout.byteOffset, stdout.byteOffset + (stdout.length & ~1)));
    };
    for (const [count, layout] of [
      [3, '3.0'],
      [6, '5.1'],
    ] as const) {
      const source = await recorded(`${count}.flac`, words, 1, ...joined(count, layout));
      const { path } = await use('noise-reduction', source);
      const { stdout } = await run('ffprobe', ['-v', 'error', '-show_entries', 'stream=channel_layout', '-of', 'csv=p=0', path]);
      expect(stdout.trim()).toBe(layout);
      expect(ratio(await channel(source, 2), await channel(path, 2), [-1, 0, 1])).toBeGreaterThan(8);
      if (layout === '5.1') expect(ratio(await channel(source, 3), await channel(path, 3), [-1, 0, 1])).toBeGreaterThan(30);
    }
  });

  it('takes a sample that is no number for silence', async () => {
    const words = await spoken('0870');
    const floats = Float32Array.from(words, (sample, i) => (i === RATE ? Number.NaN : sample / 32_768));
    const [raw, broken] = [join(home, 'nan.raw'), join(home, 'nan.wav')];
    await writeFile(raw, new Uint8Array(floats.buffer));
    await run('ffmpeg', ['-v', 'error', '-f', 'f32le', '-ar', `${RATE}`, '-ac', '1', '-i', raw, '-c:a', 'pcm_f32le', broken]);
    expect(ratio(words, await samplesOf((await use('noise-reduction', broken)).path, 1), [-1, 0, 1])).toBeGreaterThan(8);
  });

  it('refuses a recording that is longer than it says', async () => {
    const long = join(home, 'untold.mka');
    await run('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', 'sine=r=8000:d=5410', '-c:a', 'flac', '-f', 'matroska', '-live', '1', long]);
    const answer = await callTool(service, 'noise-reduction', long);
    expect(answer.error?.details).toMatchObject({ reason: 'input_limit', limit: 'seconds', max: 5400 });
  });

  it('says that it found no speech in music, and what keeps it', async () => {
    const music = await recorded(
      'music.wav',
      samples(4, (t) => 3500 * tone(130.8, t, 8) + 2000 * tone(523.3, t, 4)),
      1,
    );
    const { job } = await use('noise-reduction', music);
    expect(job.warnings).toEqual([{ code: 'little_speech', message: expect.stringContaining('send model=classical') }]);
    const refused = (await callTool(service, 'noise-reduction', music, { model: 'rnnoise' })).error;
    expect(refused).toMatchObject({ code: 'INVALID_OPTION', details: { option: 'model', allowed: 'deepfilternet3 or classical' } });
  });

  it('refuses what is longer than it may be before it decodes anything', async () => {
    const long = join(home, 'long.flac');
    await run('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=stereo:d=5401', long]);
    const surround = join(home, 'surround.flac');
    await run('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=5.1:d=1900', surround]);
    const refusals: readonly [slug: string, path: string, fields: Record<string, string>, max: number][] = [
      ['noise-reduction', long, {}, 5400],
      ['noise-reduction', long, { model: 'classical' }, 5400],
      ['vocal-remover', long, {}, 3600],
      // Its samples would not fit into one file.
      ['noise-reduction', surround, {}, 1822],
      ['vocal-remover', surround, { format: 'wav' }, 1800],
    ];
    for (const [slug, path, fields, max] of refusals)
      expect((await callTool(service, slug, path, fields)).error?.details).toMatchObject({ reason: 'input_limit', limit: 'seconds', max });
  });
});

describe('vocal-remover', () => {
  const instruments = both(
    samples(4, (t) => 3500 * tone(130.8, t, 8) + 2000 * tone(523.3, t, 4)),
    samples(4, (t) => 3500 * tone(164.8, t, 8) + 2000 * tone(659.3, t, 4)),
  );
  const voices = both(voice, voice);
  const song = sum(voices, instruments);

  it('gives vocals and instruments in a ZIP, which add up to the song', async () => {
    const { path, job } = await use('vocal-remover', await recorded('song.flac', song, 2), { format: 'wav' });
    expect(job.engine).toMatchObject({ name: 'classical' });
    const names = (await run('unzip', ['-Z1', path])).stdout.trim().split('\n').sort();
    expect(names.map((name) => name.replace(/^.*-/, ''))).toEqual(['instrumental.wav', 'vocals.wav']);
    await run('unzip', ['-q', '-d', join(home, 'stems'), path]);
    const [rest, sung] = await Promise.all(names.map((name) => samplesOf(join(home, 'stems', name), 2)));
    if (rest === undefined || sung === undefined) throw new Error('two results');
    expect(ratio(voices, sung)).toBeGreaterThan(ratio(voices, song) + 6);
    expect(ratio(instruments, rest)).toBeGreaterThan(ratio(instruments, song) + 6);
    expect(sum(rest, sung)).toEqual(song);
  });

  it('mixes further channels to two, and says so', async () => {
    const six = join(home, 'six.flac');
    await run('ffmpeg', ['-v', 'error', '-y', '-i', await recorded('two.wav', song, 2), '-ac', '6', six]);
    const { job } = await use('vocal-remover', six);
    expect(job.warnings).toEqual([{ code: 'lossy', message: 'The 6 channels of the recording were mixed to 2.' }]);
  });

  it.each([
    ['one channel', () => recorded('mono.wav', voice, 1), /mono/],
    ['two channels that are the same', () => recorded('same.wav', voices, 2), /Both channels are the same/],
  ])('says that it cannot do it with %s', async (_, made, says) => {
    const { error } = await callTool(service, 'vocal-remover', await made());
    expect(error).toMatchObject({ message: expect.stringMatching(says), details: { reason: 'no_stream' } });
  });
});
