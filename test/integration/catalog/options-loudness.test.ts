/**
 * `loudness` and `true_peak`, through HTTP, measured in the result by ITU-R BS.1770.
 *
 * Slow: recordings are measured in two passes, and films with them.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { conversionGround } from './ground.ts';

const run = promisify(execFile);
const ground = conversionGround('loudness');
const ffmpeg = (...args: readonly string[]) => run('ffmpeg', ['-v', 'error', '-y', ...args]);
const codes = (job: { warnings: readonly { code: string }[] }) => job.warnings.map(({ code }) => code);

/** @returns LUFS and dBTP of one audio stream */
async function measured(path: string, stream = 0) {
  const filters = 'ebur128=peak=true:framelog=verbose';
  const { stderr } = await run('ffmpeg', ['-nostats', '-i', path, '-map', `0:a:${stream}`, '-af', filters, '-f', 'null', '-']);
  const [, loudness, peak] =
    /I: +(-?[\d.]+) LUFS[\s\S]*Peak: +(-?[\d.]+|-inf) dBFS/.exec(stderr.slice(stderr.lastIndexOf('Summary:'))) ?? [];
  return { loudness: Number(loudness), peak: Number(peak) };
}

/** Twelve seconds: a tone that is quiet, then loud, in stereo. */
let tone: string;
/** Twelve seconds of hiss with a click of full scale each second: far from its mean to its peaks. */
let clicks: string;
let home: string;
beforeAll(async () => {
  home = await ground.aFolder();
  [tone, clicks] = [join(home, 'tone.wav'), join(home, 'clicks.wav')];
  const levels = "volume='if(lt(t,6),0.05,0.2)':eval=frame";
  await ffmpeg('-f', 'lavfi', '-i', 'sine=frequency=997:sample_rate=48000:duration=12', '-af', levels, '-ac', '2', tone);
  const samples = "aevalsrc='0.03*(random(0)*2-1)+if(lt(mod(t,1),0.0004),0.9,0)':s=48000:d=12";
  await ffmpeg('-f', 'lavfi', '-i', samples, clicks);
});

describe('loudness', () => {
  it.each(
    ['-23', '-16', '-30.5'].flatMap((loudness) =>
      ['wav', 'flac', 'mp3', 'm4a', 'opus', 'ogg'].map((target) => [loudness, target] as const),
    ),
  )('of %s LUFS is that of a %s', async (loudness, target) => {
    const { path, job } = await ground.to(tone, target, { loudness });
    const found = await measured(path);
    expect(Math.abs(found.loudness - Number(loudness)), `${found.loudness} LUFS`).toBeLessThanOrEqual(0.5);
    expect(codes(job)).toEqual([]);
  });

  it('is reached below the true peak, which limits the clicks', async () => {
    const before = await measured(clicks);
    for (const [loudness, true_peak] of [
      ['-18', '-1'],
      ['-20', '-6'],
    ] as const) {
      expect(before.peak + Number(loudness) - before.loudness).toBeGreaterThan(Number(true_peak));
      const { path, job } = await ground.to(clicks, 'flac', { loudness, true_peak });
      const found = await measured(path);
      expect(Math.abs(found.loudness - Number(loudness)), `${found.loudness} LUFS`).toBeLessThanOrEqual(0.5);
      expect(found.peak).toBeLessThanOrEqual(Number(true_peak));
      expect(codes(job)).toEqual([]);
    }
  });

  it('is said where peaks keep the sound from it', async () => {
    const { path, job } = await ground.to(clicks, 'flac', { loudness: '-5', true_peak: '-9' });
    expect((await measured(path)).peak).toBeLessThanOrEqual(-9);
    expect(codes(job)).toEqual(['loudness_missed']);
  });

  it('is that of silence, which stays silent', async () => {
    const silent = join(home, 'silent.wav');
    await ffmpeg('-f', 'lavfi', '-i', 'anullsrc=r=48000:cl=stereo:d=3', silent);
    const { path, job } = await ground.to(silent, 'flac', { loudness: '-16' });
    expect((await measured(path)).peak).toBe(Number.NaN);
    expect(codes(job)).toEqual(['loudness_missed']);
  });

  it('is measured after channels are mixed, and in the part that is kept', async () => {
    const surround = join(home, 'surround.flac');
    await ffmpeg('-i', tone, '-af', 'pan=5.1|FL=c0|FR=c1|FC=0.7*c0|BL=0.5*c0|BR=0.5*c1|LFE=0.1*c0', surround);
    for (const fields of [{ audio_channels: '2' }, { audio_channels: '1', start_time: '7', end_time: '11' }, { audio_rate: '8000' }]) {
      const { path } = await ground.to(surround, 'm4a', { loudness: '-20', ...fields } as Readonly<Record<string, string>>);
      const found = await measured(path);
      expect(Math.abs(found.loudness + 20), `${JSON.stringify(fields)}: ${found.loudness} LUFS`).toBeLessThanOrEqual(0.5);
    }
  });

  it('is that of each sound of a film, whose picture is copied', async () => {
    const film = join(home, 'film.mkv');
    const picture = ['-f', 'lavfi', '-i', 'testsrc=size=96x64:rate=10:duration=12'];
    const coded = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac'];
    await ffmpeg(...picture, '-i', tone, '-i', clicks, '-map', '0:v', '-map', '1:a', '-map', '2:a', ...coded, film);
    const { path } = await ground.to(film, 'mp4', { loudness: '-23', true_peak: '-2' });
    for (const stream of [0, 1]) {
      const found = await measured(path, stream);
      expect(Math.abs(found.loudness + 23), `stream ${stream}: ${found.loudness} LUFS`).toBeLessThanOrEqual(0.5);
    }
    const frames = async (file: string) =>
      (await run('ffmpeg', ['-v', 'error', '-i', file, '-map', '0:v', '-c', 'copy', '-f', 'streamhash', '-hash', 'md5', '-'])).stdout;
    const copied = join(home, 'copied.mp4');
    await ffmpeg('-i', film, '-map', '0:v', '-c', 'copy', copied);
    expect(await frames(path)).toBe(await frames(copied));
  });

  it('has no effect on a picture, and true_peak none without it', async () => {
    expect(codes((await ground.to(tone, 'flac', { true_peak: '-3' })).job)).toEqual(['option_ignored']);
    expect(codes((await ground.to(tone, 'flac', { true_peak: '-1' })).job)).toEqual([]);
  });
});
