/** Whether a file of subtitles says what its seed says, each cue at its time. */
import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { type Cue, clock, cuesOf } from '../fixtures/media/subtitles.ts';
import { expectWellFormed } from './documents/text.ts';

const TAGS = '(?:<[^>]*>|\\{[^}]*\\})*';
/** How a cue's times and its text stand in a file of each format, one after the other. */
const SHAPES: Readonly<Record<string, (cue: Cue) => RegExp>> = {
  srt: ({ from, to, text }) => RegExp(`^${clock(from, ',', 3)} --> ${clock(to, ',', 3)}\r?\n${TAGS}${text}`, 'm'),
  vtt: ({ from, to, text }) =>
    RegExp(`^(?:00:)?${clock(from, '.', 3).slice(3)} --> (?:00:)?${clock(to, '.', 3).slice(3)}\n${TAGS}${text}`, 'm'),
  ass: ({ from, to, text }) =>
    RegExp(`^Dialogue: \\d,${clock(from, '.', 2).slice(1)},${clock(to, '.', 2).slice(1)},[^,]*,[^,]*,0,0,0,,(?:\\{[^}]*\\})*${text}`, 'm'),
  lrc: ({ from, text }) => RegExp(`^\\[${clock(from, '.', 2).slice(3)}\\]${TAGS}${text}`, 'm'),
  ttml: ({ from, to, text }) => RegExp(`begin="${clock(from, '.', 3)}"\\s+end="${clock(to, '.', 3)}">${TAGS}${text}`, 'm'),
};
const STARTS: Readonly<Record<string, RegExp>> = { vtt: /^WEBVTT\n/, ass: /^\[Script Info\]/, srt: /^1\r?\n/ };

/** @param source format of the file that it was made from */
export async function judge(path: string, format: string, seed: string, source: string): Promise<void> {
  const text = await readFile(path, 'utf8');
  if (format === 'ttml') expectWellFormed(text, path);
  expect(text).toMatch(STARTS[format] ?? /\S/);
  const shape = SHAPES[format];
  if (shape === undefined) throw new Error(`no judge for subtitles of the format ${format}`);
  const said = cuesOf(seed);
  // Lyrics do not say when a line ends: with the next one, or 5 s later.
  const cues = source === 'lrc' ? said.map((cue, at) => ({ ...cue, to: said[at + 1]?.from ?? cue.from + 5 })) : said;
  const places = cues.map((cue) => text.search(shape(cue)));
  for (const [at, place] of places.entries()) expect(place, `cue ${at + 1} of ${path}`).toBeGreaterThanOrEqual(0);
  expect(places.toSorted((a, b) => a - b)).toEqual(places);
}
