/** What sound keeps on its way: the level of a mix, chapters, the cover, and samples of 24 bits in 32. Judged by FFmpeg's meter and by ffprobe. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { conversionGround } from './ground.ts';

const run = promisify(execFile);
const ground = conversionGround('sound');
const codes = (job: { warnings: readonly { code: string }[] }) => job.warnings.map(({ code }) => code);
const inFolder = async (name: string) => join(await ground.aFolder(), name);

async function made(name: string, ...args: readonly string[]): Promise<string> {
  const path = await inFolder(name);
  await run('ffmpeg', ['-v', 'error', '-y', ...args, path]);
  return path;
}

/** dB below full scale. */
async function levelOf(path: string): Promise<number> {
  const { stderr } = await run('ffmpeg', ['-hide_banner', '-nostats', '-i', path, '-vn', '-af', 'volumedetect', '-f', 'null', '-']);
  return Number(/mean_volume: (-?[\d.]+) dB/.exec(stderr)?.[1]);
}

interface Probed {
  readonly streams: readonly { readonly codec_type: string; readonly disposition?: { readonly attached_pic: number } }[];
  readonly chapters: readonly { readonly start_time: string; readonly tags?: Readonly<Record<string, string>> }[];
}
async function probe(path: string): Promise<Probed> {
  const { stdout } = await run('ffprobe', ['-v', 'error', '-of', 'json', '-show_chapters', '-show_streams', path]);
  return JSON.parse(stdout) as Probed;
}

describe('six channels mixed to two', () => {
  // Front left and right, and the middle, at half of full scale: 0.5 × (1 + √½), of which the mean of a sine is 3 dB less.
  const LEVEL = 20 * Math.log10(0.25 * (1 + Math.SQRT1_2)) - 3;
  const six = ['-f', 'lavfi', '-i', "aevalsrc='0.25*sin(880*PI*t)|0.25*sin(880*PI*t)|0.25*sin(880*PI*t)|0|0|0':c=5.1:s=48000:d=2"];

  it.each(['flac', 'ac3'].flatMap((source) => ['mp3', 'flac', 'wav', 'opus', 'm4a', 'ogg'].map((target) => [source, target] as const)))(
    'have one level from %s as %s',
    async (source, target) => {
      const { path } = await ground.to(await made(`six.${source}`, ...six), target, {
        [target === 'wav' ? 'wav_channels' : 'audio_channels']: '2',
      });
      expect(Math.abs((await levelOf(path)) - LEVEL)).toBeLessThan(1);
    },
  );
});

/** Ten seconds in two chapters, the second from 5.5 s on, with a cover. */
async function aBook(): Promise<string> {
  const marks = await inFolder('marks.txt');
  const chapter = (start: number, end: number, title: string) => `[CHAPTER]\nTIMEBASE=1/1000\nSTART=${start}\nEND=${end}\ntitle=${title}\n`;
  await writeFile(marks, `;FFMETADATA1\ntitle=Book\n${chapter(0, 5500, 'One')}${chapter(5500, 10_000, 'Two')}`);
  const cover = await made('cover.jpg', '-f', 'lavfi', '-i', 'color=red:s=64x64', '-frames:v', '1');
  const inputs = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=10', '-i', cover, '-i', marks];
  const maps = ['-map', '0', '-map', '1', '-map_metadata', '2', '-map_chapters', '2'];
  return made('book.m4b', ...inputs, ...maps, '-c:v', 'copy', '-disposition:v', 'attached_pic', '-c:a', 'aac');
}

describe('a book with chapters and a cover', () => {
  it.each(['opus', 'ogg', 'flac', 'mp3', 'mka'])('has its chapters where they were as %s', async (target) => {
    const { path } = await ground.to(await aBook(), target);
    const { chapters } = await probe(path);
    expect(chapters.map(({ start_time: start, tags }) => [Number(start).toFixed(2), tags?.['title']])).toEqual([
      ['0.00', 'One'],
      ['5.50', 'Two'],
    ]);
  });

  it('has those of the part that is kept', async () => {
    const { path } = await ground.to(await aBook(), 'opus', { start_time: '5' });
    const { chapters } = await probe(path);
    expect(chapters.map(({ start_time: start }) => Number(start).toFixed(2))).toEqual(['0.50']);
  });

  it.each(['opus', 'ogg', 'mka', 'aiff', 'flac', 'mp3', 'm4a'])('has its cover as %s, and nothing says otherwise', async (target) => {
    const { path, job } = await ground.to(await aBook(), target);
    expect((await probe(path)).streams.filter(({ disposition }) => disposition?.attached_pic === 1)).toHaveLength(1);
    expect(codes(job)).not.toContain('streams_dropped');
    expect(codes(job)).not.toContain('property_lost');
  });
});

it.each(['mp3', 'flac', 'm4a'])('a WMA has its cover as %s, though FFmpeg wrote it as a film', async (target) => {
  const cover = await made('still.jpg', '-f', 'lavfi', '-i', 'color=red:s=64x64', '-frames:v', '1');
  const sound = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=2', '-i', cover];
  const source = await made('cover.wma', ...sound, '-map', '0', '-map', '1', '-c:v', 'copy', '-c:a', 'wmav2');
  const { path } = await ground.to(source, target);
  expect((await probe(path)).streams.filter(({ disposition }) => disposition?.attached_pic === 1)).toHaveLength(1);
});

describe('24 bits in the upper part of 32', () => {
  const RATE = 48_000;
  /** A second at half of full scale. @param bits as the header says them: the container's, or the valid ones */
  async function justified(bits: 24 | 32): Promise<string> {
    const samples = Buffer.alloc(RATE * 8);
    for (let at = 0; at < RATE; at++) {
      const value = Math.round(0.5 * 0x7f_ffff * Math.sin((2 * Math.PI * 440 * at) / RATE)) * 256;
      samples.writeInt32LE(value, at * 8);
      samples.writeInt32LE(value, at * 8 + 4);
    }
    const head = Buffer.alloc(68);
    head.write('RIFF', 0);
    head.writeUInt32LE(60 + samples.length, 4);
    head.write('WAVEfmt ', 8);
    // WAVE_FORMAT_EXTENSIBLE, of whole numbers.
    for (const [value, at] of [
      [40, 16],
      [0xfffe, 20],
      [2, 22],
      [8, 32],
      [bits, 34],
      [22, 36],
      [24, 38],
    ] as const)
      head.writeUInt16LE(value, at);
    head.writeUInt32LE(RATE, 24);
    head.writeUInt32LE(RATE * 8, 28);
    head.writeUInt32LE(3, 40);
    Buffer.from('0100000000001000800000aa00389b71', 'hex').copy(head, 44);
    head.write('data', 60);
    head.writeUInt32LE(samples.length, 64);
    const path = await inFolder('wide.wav');
    await writeFile(path, Buffer.concat([head, samples]));
    return path;
  }

  it.each(([24, 32] as const).flatMap((bits) => ['flac', 'aiff', 'wav', 'mp3', 'm4a'].map((target) => [bits, target] as const)))(
    'stated as %d sound the same as %s',
    async (bits, target) => {
      const { path } = await ground.to(await justified(bits), target);
      expect(Math.abs((await levelOf(path)) - -9.03)).toBeLessThan(0.5);
    },
  );
});
