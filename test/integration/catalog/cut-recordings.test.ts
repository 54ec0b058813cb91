/** Recordings whose end is missing: what is left is converted, and the job says so. Judged by ffprobe. */
import { execFile } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { lookThrough } from '../../../src/catalog/planning/look-through.ts';
import { piecesOf } from '../../../src/judge/pieces.ts';
import { conversionGround } from './ground.ts';

const run = promisify(execFile);
const ground = conversionGround('cut');

const SECONDS = 5;
const film = ['-f', 'lavfi', '-i', `testsrc2=s=160x120:r=25:d=${SECONDS}`];
const tone = ['-f', 'lavfi', '-i', `sine=frequency=440:duration=${SECONDS}:sample_rate=44100`];
const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'];

/** A format, a target, and how the source is written; the index of the MP4 comes first, as without it nothing can be read. */
const RECORDINGS: readonly (readonly [format: string, target: string, inputs: readonly string[], codecs: readonly string[]])[] = [
  ['mp4', 'mkv', [...film, ...tone], [...h264, '-c:a', 'aac', '-movflags', '+faststart']],
  ['mkv', 'mp4', [...film, ...tone], [...h264, '-c:a', 'aac']],
  ['webm', 'mp4', film, ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8']],
  ['avi', 'mp4', [...film, ...tone], ['-c:v', 'mpeg4', '-c:a', 'libmp3lame']],
  ['flv', 'mp4', [...film, ...tone], ['-c:v', 'flv', '-c:a', 'libmp3lame']],
  ['wmv', 'mp4', [...film, ...tone], ['-c:v', 'wmv2', '-c:a', 'wmav2']],
  ['flac', 'mp3', tone, []],
  ['flac', 'wav', tone, []],
  ['mp3', 'wav', tone, []],
  ['mp3', 'flac', tone, ['-write_xing', '0']],
  ['wav', 'mp3', tone, []],
  ['wav', 'flac', tone, []],
  ['aiff', 'flac', tone, []],
  ['au', 'wav', tone, []],
  ['caf', 'flac', tone, []],
  ['w64', 'wav', tone, []],
  ['wma', 'mp3', tone, []],
  ['ogg', 'mp3', tone, []],
  ['opus', 'mp3', tone, []],
  ['aac', 'mp3', tone, []],
  ['ac3', 'wav', tone, []],
];

const codes = (job: { warnings: readonly { code: string }[] }) => job.warnings.map(({ code }) => code);

function isCut(format: string, path: string): boolean {
  const fd = openSync(path, 'r');
  try {
    return lookThrough(format, piecesOf(fd))['cutOff'] === true;
  } finally {
    closeSync(fd);
  }
}

async function secondsOf(path: string): Promise<number> {
  const { stdout } = await run('ffprobe', ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', path]);
  return Number(stdout);
}

describe('a recording that was cut', () => {
  it.each(RECORDINGS)('is said to be, as %s that becomes %s', async (format, target, inputs, codecs) => {
    const whole = join(await ground.aFolder(), `whole.${format}`);
    await run('ffmpeg', ['-v', 'error', '-y', ...inputs, ...codecs, whole]);
    const bytes = await readFile(whole);
    const cut = join(await ground.aFolder(), `cut.${format}`);
    await writeFile(cut, bytes.subarray(0, Math.floor(bytes.length * 0.6)));

    const { path, job } = await ground.to(cut, target);
    expect(codes(job)).toContain('file_cut_off');
    expect(codes(job)).not.toContain('property_lost');
    const left = await secondsOf(path);
    expect(left).toBeGreaterThan(2);
    expect(left).toBeLessThan(4);

    expect(isCut(format, whole)).toBe(false);
  });
});
