/** Cues, and the SubRip text of them. */
import { beyond, FileRefused } from '../../data/values/value.ts';

export interface Cue {
  /** Seconds. */
  readonly from: number;
  /** Undefined where the file does not say it. */
  readonly to: number | undefined;
  /** Empty where it only says that the one before ends. */
  readonly text: string;
}

const MOST_CUES = 100_000;
/** Characters of all together: a line of lyrics may have a thousand times. */
const MOST_TEXT = 16 << 20;
/** Length of a cue that nothing ends, seconds. */
const LAST_SECONDS = 5;

/** In the order of their times; those at the same time are lines of one. A cue without an end lasts until the next one. @throws FileRefused */
export function subRip(cues: readonly Cue[]): string {
  if (cues.length > MOST_CUES) throw beyond('cues', MOST_CUES, cues.length);
  const size = cues.reduce((sum, { text }) => sum + text.length, 0);
  if (size > MOST_TEXT) throw beyond('characters of subtitles', MOST_TEXT, size);
  const ordered = [...cues].sort((a, b) => a.from - b.from).map((cue) => ({ ...cue, text: withoutEmptyLines(cue.text) }));
  const joined: Cue[] = [];
  for (const cue of ordered) {
    const last = joined.at(-1);
    const isTogether = last !== undefined && last.text !== '' && cue.text !== '' && last.from === cue.from && last.to === cue.to;
    if (isTogether) joined[joined.length - 1] = { ...last, text: `${last.text}\n${cue.text}` };
    else joined.push(cue);
  }
  const shown = joined.map((cue, at) => ({ ...cue, to: cue.to ?? joined[at + 1]?.from ?? cue.from + LAST_SECONDS }));
  const said = shown.filter(({ from, to, text }) => text !== '' && to > from);
  if (said.length === 0) throw new FileRefused('corrupt_input', 'There is no subtitle in the file.');
  return said.map(({ from, to, text }, at) => `${at + 1}\n${clock(from)} --> ${clock(to)}\n${text}\n\n`).join('');
}

/** An empty line ends a cue. */
const withoutEmptyLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n');

function clock(seconds: number): string {
  const ms = Math.round(seconds * 1000);
  const parts = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1000) % 60];
  return `${parts.map((part) => String(part).padStart(2, '0')).join(':')},${String(ms % 1000).padStart(3, '0')}`;
}
