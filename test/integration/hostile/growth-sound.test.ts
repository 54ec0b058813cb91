/** Programs that read subtitles, and what is heard in recordings, each with what could be its worst case: eight times the size takes eight times the time. */
import { proveLinear, type Reader, times } from './growth.ts';

const captions = (verb: string, file: Reader['file'], count: number): Reader => ({
  program: 'sound/captions.ts',
  args: (input, output) => [verb, input, output],
  file,
  count,
});
const read = (format: string, file: Reader['file'], count: number): Reader => ({
  program: 'sound/captions.ts',
  args: (input, output) => ['read', input, format, output],
  file,
  count,
});
const timed = (inside: string): string => `<tt xmlns="http://www.w3.org/ns/ttml"><body>${inside}</body></tt>`;
const heard = (file: Reader['file'], count: number): Reader => ({
  program: 'sound/dictation.ts',
  args: (input, output) => [input, output, 'srt'],
  file,
  count,
});

proveLinear({
  'SubRip: cues': captions('text', (count) => times(count, (at) => `${at}\n00:00:01,000 --> 00:00:02,000\na\n\n`), 20_000),
  'SubRip: empty lines': captions('lrc', (count) => '\n'.repeat(count), 1_000_000),
  'SubRip: lines of one cue': captions('text', (count) => `1\n00:00:01,000 --> 00:00:02,000\n${'a\n'.repeat(count)}`, 200_000),
  'SubRip: tags that do not end': captions('text', (count) => `1\n00:00:01,000 --> 00:00:02,000\n${'<i{\\'.repeat(count)}`, 50_000),
  'SubRip: times in one line': captions('lrc', (count) => `1\n${' --> '.repeat(count)}`, 200_000),
  'ASS: braces that do not end': captions('plain', (count) => `Dialogue: 0,0,0,,,,,,,${'{'.repeat(count)}`, 500_000),
  'ASS: codes': captions('plain', (count) => `Dialogue: 0,0,0,,,,,,,${'{\\p1}a{\\p0}b'.repeat(count)}`, 50_000),
  'ASS: lines of formats': captions('plain', (count) => `Format: ${', '.repeat(count)} Text\n`.repeat(2), 200_000),
  'ASS: commas and blanks': captions('plain', (count) => `Format:,${' '.repeat(count)}Tex\n`, 200_000),
  'lyrics: times of one line': read('lrc', (count) => `${'[00:01.00]'.repeat(count)}a\n`, 10_000),
  'lyrics: lines': read('lrc', (count) => times(count, (at) => `[${String(at % 99).padStart(2, '0')}:01.00]a\n`), 10_000),
  'lyrics: at one time': read('lrc', (count) => '[00:01.00]a\n'.repeat(count), 10_000),
  'lyrics: times of words': read('lrc', (count) => `[00:01.00]${'<00:0'.repeat(count)}\n[00:02.00]a\n`, 100_000),
  'XML: cues': read('ttml', (count) => timed('<p begin="1s" end="2s">a</p>'.repeat(count)), 5_000),
  'XML: spans of one cue': read(
    'ttml',
    (count) => timed(`<p>${times(count, (at) => `<span begin="${at}s" end="${at + 1}s">a</span>`)}</p>`),
    5_000,
  ),
  'XML: words of one cue': read('ttml', (count) => timed(`<p begin="1s" end="2s">${'a<br/>'.repeat(count)}</p>`), 10_000),
  'XML: blanks': read('ttml', (count) => timed(`<p begin="1s" end="2s">${' '.repeat(count)}a</p>`), 500_000),
  'dictation: words': heard((count) => times(count, (at) => `a ${at}.000 ${at + 1}.000 0.5\n`), 20_000),
  'dictation: one long line': heard((count) => `${'a'.repeat(count)}\n`, 1_000_000),
  'a cover': {
    program: 'sound/cover.ts',
    args: (input, output) => [input, output],
    file: (count) => '='.repeat(count),
    count: 2_000_000,
    extension: '.jpg',
  },
});
