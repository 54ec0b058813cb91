/** Subtitles as people have them: other encodings, styles, several tracks or none. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixtures as media } from '../../kit/fixtures/media/media.ts';
import { convert, convertTo, type Service, settled } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

let service: Pick<Service, 'url'>;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-subtitles-'));
  service = await sharedService();
});
afterAll(async () => {
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

describe('of Advanced SubStation Alpha', () => {
  const FIELDS = 'Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text';
  const line = (from: number, text: string): string => `Dialogue: 0,0:00:0${from}.00,0:00:0${from + 1}.00,Default,,0,0,0,,${text}\n`;
  const script = `[Script Info]\nScriptType: v4.00+\n\n[Events]\nFormat: ${FIELDS}\n${[
    line(1, '{\\p1}m 0 0 l 100 0 100 100{\\p0}'),
    line(3, 'Hello,\\hworld{a remark}, {\\i1}you{\\i0}\\Nthere'),
    line(5, '{\\pos(1,2)\\p2}m 0 0 l 9 9{\\p0}after'),
  ].join('')}`;

  it.each(['srt', 'vtt', 'txt', 'lrc', 'ttml'])(
    'are what is said as %s: no drawings, no remarks, and spaces for their code',
    async (target) => {
      const text = await textOf(await send('a.ass', script, target));
      // Some write `\h` as the space that lines are not broken at.
      const said = text.replace(/<br\/>|\r?\n|\u00a0/g, ' ').replace(/<[^>]*>/g, '');
      expect(said).toContain('Hello, world, you there');
      expect(said).toContain('after');
      expect(said).not.toMatch(/m 0 0|remark|\\h/);
    },
  );

  it('are the same in a video', async () => {
    const [subtitles, video] = [join(folder, 'a.ass'), join(folder, 'drawn.mkv')];
    await writeFile(subtitles, script);
    const picture = ['-f', 'lavfi', '-i', 'color=s=64x64:d=7:r=5'];
    execFileSync('ffmpeg', ['-v', 'error', '-y', ...picture, '-i', subtitles, '-c:v', 'libx264', '-c:s', 'ass', video]);
    const { path } = await convertTo(service.url, folder, video, 'srt');
    const text = await readFile(path, 'utf8');
    expect(text).toContain('Hello, world');
    expect(text).toContain('00:00:03,000 --> 00:00:04,000');
    expect(text).not.toMatch(/m 0 0|remark/);
  });
});

describe('of XML (TTML)', () => {
  const document = (root: string, body: string): string =>
    `<?xml version="1.0" encoding="UTF-8"?>\n<tt xmlns="http://www.w3.org/ns/ttml" xmlns:ttp="http://www.w3.org/ns/ttml#parameter" xmlns:tts="http://www.w3.org/ns/ttml#styling" ${root}>\n<head><metadata><title>no words</title></metadata></head>${body}</tt>`;
  const srtOf = async (body: string, root = '') => textOf(await send('a.ttml', document(root, body), 'srt'));
  const cues = (...said: readonly (readonly [times: string, text: string])[]): string =>
    said.map(([times, text], at) => `${at + 1}\n${times}\n${text}\n\n`).join('');

  it('have their times in all forms, and those of what they are in', async () => {
    const body = `<body begin="10s"><div><p begin="00:00:01.5" end="00:00:02,250">clock</p><p begin="3000ms" dur="0.5s">ms</p></div>
      <div timeContainer="seq"><p dur="1s">first</p><p dur="1s">second</p></div>
      <div begin="1m"><p begin="00:00:00:12" end="25f">frames</p><p begin="2500000t" end="3000000t">ticks</p></div></body>`;
    expect(await srtOf(body, 'ttp:frameRate="25" ttp:tickRate="1000000"')).toBe(
      cues(
        ['00:00:10,000 --> 00:00:11,000', 'first'],
        ['00:00:11,000 --> 00:00:12,000', 'second'],
        ['00:00:11,500 --> 00:00:12,250', 'clock'],
        ['00:00:13,000 --> 00:00:13,500', 'ms'],
        ['00:01:10,480 --> 00:01:11,000', 'frames'],
        ['00:01:12,500 --> 00:01:13,000', 'ticks'],
      ),
    );
    expect(await srtOf('<body><p begin="0" end="1001f">x</p></body>', 'ttp:frameRate="24" ttp:frameRateMultiplier="1000 1001"')).toContain(
      '--> 00:00:41,750',
    );
  });

  it('have their words, line by line, and each part at its own time', async () => {
    const body = `<body><p begin="1s" end="4s">\n  One &lt;two&gt; &amp;<br/>\n <span tts:fontStyle="italic">three &#x2014;</span> four <metadata>not this</metadata>
      <span begin="1s" end="2s">later</span></p><p begin="5s" end="6s" xml:id="x"/><p begin="6s">until the end</p></body>`;
    expect(await srtOf(body)).toBe(
      cues(
        ['00:00:01,000 --> 00:00:04,000', 'One <two> &\nthree — four'],
        ['00:00:02,000 --> 00:00:03,000', 'later'],
        ['00:00:06,000 --> 00:00:11,000', 'until the end'],
      ),
    );
  });

  it.each([
    [
      'of entities',
      '<!DOCTYPE tt [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><tt xmlns="http://www.w3.org/ns/ttml"><body><p end="1s">&b;</p></body></tt>',
      'unsupported_variant',
    ],
    ['cut off', document('', '<body><p begin="1s">x').slice(0, -5), 'corrupt_input'],
    ['without a word', document('', '<body><div/></body>'), 'corrupt_input'],
    ['of elements in each other', document('', `${'<div>'.repeat(1000)}${'</div>'.repeat(1000)}`), 'input_limit'],
    ['of very many cues', document('', `<body>${'<p end="1s">x</p>'.repeat(100_001)}</body>`), 'input_limit'],
    ['too large', document('', `<body><p end="1s">${'x'.repeat(9 << 20)}</p></body>`), 'input_limit'],
  ])('are refused where they are %s', async (_, file, reason) => {
    expect((await send('a.ttml', file, 'srt')).error).toMatchObject({ details: { reason } });
  });
});

describe('of lyrics (LRC)', () => {
  it('last until the next line, and may be said several times, sooner, or word by word', async () => {
    const lyrics =
      '[ti:A song]\r\n[offset:+500]\r\n[00:01.50][00:11.5]Refrain\r\n[00:03]<00:03.10>One <00:03.60>two\r\n[00:03]Eins zwei\r\n[00:05.250]\r\n[01:02:75]Last\r\n';
    expect(await textOf(await send('a.lrc', lyrics, 'srt'))).toBe(
      '1\n00:00:01,000 --> 00:00:02,500\nRefrain\n\n2\n00:00:02,500 --> 00:00:04,750\nOne two\nEins zwei\n\n3\n00:00:11,000 --> 00:01:02,250\nRefrain\n\n4\n00:01:02,250 --> 00:01:07,250\nLast\n\n',
    );
  });

  it('are read in their encoding, and refused where they would become too much', async () => {
    const western = await send('a.lrc', Buffer.from('[00:01.00]\xe9t\xe9 chaud\n', 'latin1'), 'vtt');
    expect(await textOf(western)).toContain('été chaud');
    expect(western.data?.warnings.map(({ code }) => code)).toContain('charset_guessed');
    const many = `${'[00:01.00]'.repeat(50_000)}${'x'.repeat(1 << 20)}\n`;
    expect((await send('a.lrc', many, 'srt')).error).toMatchObject({ details: { reason: 'input_limit' } });
    expect((await send('a.lrc', '[ti:nothing]\n[00:01.00]\n', 'srt')).error).toMatchObject({ details: { reason: 'corrupt_input' } });
  });
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
