/** `speech-to-text` over HTTP, with the real model: recorded voices whose words are known, and spoken ones whose times are. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool, outputOf } from '../../kit/api/tools.ts';
import { CHAPTER, errorRate, readAloud } from '../../kit/catalog/voices.ts';
import type { Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
let service: Pick<Service, 'url'>;
let home: string;
let chapter: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-speech-'));
  service = await sharedService();
  chapter = await joined('chapter.opus', CHAPTER);
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

/** @param parts paths, or seconds of silence */
async function joined(name: string, parts: readonly (string | number)[], ...encode: readonly string[]): Promise<string> {
  const path = join(home, name);
  const inputs = parts.flatMap((part) =>
    typeof part === 'string' ? ['-i', part] : ['-f', 'lavfi', '-t', String(part), '-i', 'anullsrc=r=16000:cl=mono'],
  );
  const even = parts.map((_, i) => `[${i}:a]aresample=16000,aformat=channel_layouts=mono[a${i}]`).join(';');
  const filter = `${even};${parts.map((_, i) => `[a${i}]`).join('')}concat=n=${parts.length}:v=0:a=1[all]`;
  await run('ffmpeg', ['-v', 'error', '-y', ...inputs, '-filter_complex', filter, '-map', '[all]', ...encode, path]);
  return path;
}

/** What a job says beside its output. */
interface Transcribed {
  readonly text?: string;
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
  readonly engine?: { readonly name: string };
}
async function transcribe(path: string, fields: Record<string, string> = {}) {
  const answer = await callTool(service, 'speech-to-text', path, fields);
  if (answer.data === undefined || answer.error !== undefined) throw new Error(JSON.stringify(answer));
  return { job: answer.data as typeof answer.data & Transcribed, output: (await outputOf(service, answer)).toString() };
}

/** Cues of SubRip: from, to, s, and text. */
const cuesIn = (srt: string) =>
  [...srt.matchAll(/(\d+):(\d+):(\d+),(\d+) --> (\d+):(\d+):(\d+),(\d+)\n((?:.+\n?)+)/g)].map(([, ...parts]) => {
    const [h = 0, m = 0, s = 0, ms = 0, h2 = 0, m2 = 0, s2 = 0, ms2 = 0] = parts.map(Number);
    return {
      from: h * 3600 + m * 60 + s + ms / 1000,
      to: h2 * 3600 + m2 * 60 + s2 + ms2 / 1000,
      text: (parts[8] ?? '').replaceAll('\n', ' '),
    };
  });

describe('a recorded voice', () => {
  it('becomes text, in the job and in its output', async () => {
    const { job, output } = await transcribe(chapter);
    expect(errorRate(output, await readAloud())).toBeLessThan(0.05);
    expect(job).toMatchObject({ text: output, engine: { name: 'whisper-base' }, output: { filename: 'chapter-filemill.txt' } });
    expect(job.warnings).toEqual([{ code: 'language_detected', message: expect.stringContaining('English (en)') }]);
    const again = await (await fetch(`${service.url}/api/v1/jobs/${job.job_id}`)).json();
    expect(again).toMatchObject({ data: { text: output, output: { content_type: expect.stringContaining('text/plain') } } });
  });

  it.each(['fast', 'best'])('is understood as well with quality %s', async (quality) => {
    const { job, output } = await transcribe(chapter, { quality, language: 'en' });
    expect(errorRate(output, await readAloud())).toBeLessThan(0.05);
    expect(job.warnings).toEqual([]);
  });

  it('becomes subtitles that are shown while it speaks, also where 30 s are not enough', async () => {
    const path = await joined('long.mkv', [4, CHAPTER[1] ?? '', 40, CHAPTER[4] ?? '', 3]);
    const lengths = await Promise.all(
      [CHAPTER[1], CHAPTER[4]].map(async (part = '') => {
        const { stdout } = await run('ffprobe', ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', part]);
        return Number(stdout);
      }),
    );
    const [first = 0, second = 0] = lengths;
    const { job, output } = await transcribe(path, { format: 'srt', language: 'en' });
    expect(job).toMatchObject({ text: output, output: { filename: 'long-filemill.srt' } });
    const cues = cuesIn(output);
    expect(cues.map(({ text }) => text).join(' ')).toMatch(/not an ill-disposed young man.*made amiable himself/i);
    const [early, late] = [cues.filter(({ from }) => from < 30), cues.filter(({ from }) => from >= 30)];
    const shown = [early[0]?.from, early.at(-1)?.to, late[0]?.from, late.at(-1)?.to];
    const spoken = [4, 4 + first, 44 + first, 44 + first + second];
    // The recordings begin and end with short pauses.
    for (const [i, time] of shown.entries()) expect(Math.abs((time ?? 0) - (spoken[i] ?? 0))).toBeLessThan(1);
  });

  it('made by a machine has a cue for each sentence, from its beginning to its end, whatever the pauses', async () => {
    const sentences = ['The train leaves at nine.', 'Please close the window.', 'Dinner is on the table.'];
    const paths = await Promise.all(
      sentences.map(async (sentence, i) => {
        const path = join(home, `sentence-${i}.wav`);
        await run('espeak-ng', ['-v', 'en-us', '-s', '130', '-w', path, sentence]);
        return path;
      }),
    );
    const lengths = await Promise.all(
      paths.map(async (path) =>
        Number((await run('ffprobe', ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', path])).stdout),
      ),
    );
    const [first = 0, second = 0, third = 0] = lengths;
    const path = await joined('pauses.wav', [2, paths[0] ?? '', 4, paths[1] ?? '', 7, paths[2] ?? '', 2]);
    const cues = cuesIn((await transcribe(path, { format: 'srt', language: 'en' })).output);
    const begins = [2, 6 + first, 13 + first + second];
    for (const [i, word] of ['train', 'window', 'table'].entries()) {
      const cue = cues.find(({ text }) => text.toLowerCase().includes(word));
      const begin = begins[i] ?? 0;
      expect(Math.abs((cue?.from ?? -9) - begin), `"${word}" begins`).toBeLessThan(1);
      expect(Math.abs((cue?.to ?? -9) - (begin + ([first, second, third][i] ?? 0))), `"${word}" ends`).toBeLessThan(1.2);
    }
  });

  it('is taken from a video, and becomes WebVTT that FFmpeg reads', async () => {
    const video = join(home, 'talk.mp4');
    await run('ffmpeg', [
      '-v',
      'error',
      '-f',
      'lavfi',
      '-i',
      'testsrc2=s=160x120:r=10',
      '-i',
      CHAPTER[4] ?? '',
      '-shortest',
      '-ac',
      '2',
      video,
    ]);
    const { output } = await transcribe(video, { format: 'vtt' });
    expect(output).toMatch(/^WEBVTT\n\n00:00:0\d\.\d{3} --> /);
    const path = join(home, 'talk.vtt');
    await writeFile(path, output);
    const { stdout } = await run('ffmpeg', ['-v', 'error', '-i', path, '-f', 'srt', '-']);
    expect(
      cuesIn(stdout.replaceAll('\r', ''))
        .map(({ text }) => text)
        .join(' '),
    ).toMatch(/amiable himself/);
  });
});

describe('a voice of a program', () => {
  it('is understood in the language that is named', async () => {
    const path = join(home, 'zahlen.wav');
    await run('espeak-ng', ['-v', 'de', '-s', '120', '-w', path, 'Guten Morgen. Heute ist Montag. Wir fahren mit dem Auto nach Berlin.']);
    const { job, output } = await transcribe(path, { language: 'de', quality: 'best' });
    expect(output).toMatch(/Guten Morgen/);
    expect(output).toMatch(/Berlin/);
    expect(job.warnings?.map(({ code }) => code)).not.toContain('language_detected');
  });
});

describe('without the model', () => {
  it('English is written down roughly, and the job says so', async () => {
    const { job, output } = await transcribe(chapter, { model: 'pocketsphinx', quality: 'best' });
    expect(job.engine?.name).toBe('pocketsphinx');
    expect(job.warnings?.map(({ code }) => code)).toEqual(['rough_transcript']);
    expect(errorRate(output, await readAloud())).toBeLessThan(0.5);
  });

  it('words have their times, also behind silence', async () => {
    const [first = '', second = ''] = CHAPTER;
    const path = await joined('pause.wav', [first, 20, second]);
    const { output } = await transcribe(path, { model: 'pocketsphinx', format: 'srt', quality: 'fast' });
    const cues = cuesIn(output);
    // The first part lasts 7.1 s.
    expect(cues[0]?.from).toBeLessThan(1);
    expect(cues.every(({ from, to }) => to <= 8 || from >= 26)).toBe(true);
    expect(cues.at(-1)?.from).toBeGreaterThan(26);
  });

  it('another language is refused, and silence is told', async () => {
    const german = await callTool(service, 'speech-to-text', chapter, { model: 'pocketsphinx', language: 'de' });
    expect(german.error).toMatchObject({ code: 'CONVERSION_FAILED', details: { reason: 'model_not_installed' } });
    const silent = await transcribe(await joined('mute.wav', [3]), { model: 'pocketsphinx', format: 'vtt' });
    expect([silent.output, silent.job.warnings?.map(({ code }) => code)]).toEqual(['WEBVTT\n\n', ['no_speech']]);
  });
});

describe('what has no speech', () => {
  it('is done, with a warning', async () => {
    const silent = await transcribe(await joined('silence.flac', [3]));
    expect([silent.output, silent.job.text]).toEqual(['', '']);
    expect(silent.job.warnings).toEqual([{ code: 'no_speech', message: 'No speech was found in the recording.' }]);
    const noise = join(home, 'noise.wav');
    await run('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-t', '8', '-i', 'anoisesrc=r=16000:a=0.1:seed=3', noise]);
    expect((await transcribe(noise, { format: 'srt' })).job.warnings?.map(({ code }) => code)).toEqual(['no_speech']);
  });

  it('is refused where there is no sound at all', async () => {
    const mute = join(home, 'mute.mp4');
    await run('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-t', '1', '-i', 'testsrc=s=64x48', mute]);
    const answer = await callTool(service, 'speech-to-text', mute);
    expect(answer.error).toMatchObject({ code: 'CONVERSION_FAILED', details: { reason: 'no_stream' } });
  });

  it('is refused where it is longer than two hours, before anything is heard', async () => {
    const long = await joined('long.flac', [7300]);
    const answer = await callTool(service, 'speech-to-text', long);
    expect(answer.error).toMatchObject({ details: { reason: 'input_limit', limit: 'seconds', max: 7200 } });
  });

  it('is refused for another kind of file, and for a language that is not known', async () => {
    const picture = join(home, 'a.png');
    await run('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', 'testsrc=s=64x48', '-frames:v', '1', picture]);
    expect(await callTool(service, 'speech-to-text', picture)).toMatchObject({ status: 415 });
    expect((await callTool(service, 'speech-to-text', chapter, { language: 'klingon' })).error).toMatchObject({
      code: 'INVALID_OPTION',
      details: { option: 'language', received: 'klingon' },
    });
  });
});
