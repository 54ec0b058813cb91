/** Subtitles as people have them: other encodings, styles, several tracks or none. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixtures as media } from '../../kit/fixtures/media.ts';
import { convert, convertTo, type Service, settled, startService } from '../../kit/service.ts';

let service: Service;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-subtitles-'));
  service = await startService();
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const cue = (text: string, from = 1): string => `1\n00:00:0${from},000 --> 00:00:0${from + 1},500\n${text}\n\n`;
const send = async (name: string, content: string | Buffer, target: string) =>
  settled(service.url, await convert(service.url, { name, bytes: Buffer.from(content) }, target));
const textOf = async ({ data, error }: Awaited<ReturnType<typeof send>>): Promise<string> => {
  expect(error).toBeUndefined();
  return (await fetch(data?.output?.url ?? '')).text();
};

it('in Windows-1252 or UTF-16 become UTF-8, and what was guessed is said', async () => {
  const western = await send('a.srt', Buffer.from(cue('\xe9t\xe9'), 'latin1'), 'vtt');
  expect(await textOf(western)).toBe('WEBVTT\n\n00:01.000 --> 00:02.500\nété\n');
  expect(western.data?.warnings.map(({ message }) => message)).toContain(
    'The text is not UTF-8 and does not name its encoding: it was read as Windows-1252.',
  );
  const wide = await send('b.srt', Buffer.from(`\ufeff${cue('Ελληνικά')}`, 'utf16le'), 'vtt');
  expect(await textOf(wide)).toContain('Ελληνικά');
  expect(wide.data?.warnings).toEqual([]);
});

it('lose their tags and times as plain text, and nothing that only looks like a tag', async () => {
  const styled = `${cue('{\\an8}<font color="#ff0000"><i>Two</i> lines</font>\n& 1 < 2')}2\n00:00:03,000 --> 00:00:04,000\nNext\n`;
  expect(await textOf(await send('c.srt', styled, 'txt'))).toBe('Two lines\n& 1 < 2\n\nNext\n');
  expect(await textOf(await send('c.srt', styled, 'lrc'))).toBe('[00:01.00]Two lines & 1 < 2\n[00:03.00]Next\n');
});

it('are known by their content, whatever their name says', async () => {
  const answer = await send('notes.txt', cue('Hello'), 'vtt');
  expect(answer.data?.status).toBe('done');
  expect(answer.data?.warnings.map(({ code }) => code)).toEqual(['content_differs']);
});

it('without a cue are damaged', async () => {
  const { error } = await send('d.vtt', 'WEBVTT\n\nNOTE nothing is said\n', 'srt');
  expect(error).toMatchObject({ code: 'CONVERSION_FAILED', details: { reason: 'corrupt_input' } });
});

it('of a video are those of its first track of text; without one it says so', async () => {
  const video = (await media['mkv']?.('kestrel', folder)) ?? '';
  const silent = await settled(service.url, await convert(service.url, video, 'srt'));
  expect(silent.error).toMatchObject({ message: 'The video has no subtitles.', details: { reason: 'no_stream' } });
  const [first, second, both] = ['one.srt', 'two.srt', 'both.mkv'].map((name) => join(folder, name)) as [string, string, string];
  execFileSync('tee', [first], { input: cue('the first'), stdio: ['pipe', 'ignore', 'inherit'] });
  execFileSync('tee', [second], { input: cue('the second'), stdio: ['pipe', 'ignore', 'inherit'] });
  const inputs = [video, first, second].flatMap((path) => ['-i', path]);
  execFileSync('/usr/bin/ffmpeg', [
    '-v',
    'error',
    '-y',
    ...inputs,
    '-map',
    '0',
    '-map',
    '1',
    '-map',
    '2',
    '-c',
    'copy',
    '-c:s',
    'ass',
    both,
  ]);
  const { path, job } = await convertTo(service.url, folder, both, 'srt');
  const text = await readFile(path, 'utf8');
  expect(text).toContain('the first');
  expect(text).not.toContain('the second');
  expect(job.warnings.map(({ message }) => message)).toContain('The video has 2 subtitle tracks: the first one was taken.');
});
