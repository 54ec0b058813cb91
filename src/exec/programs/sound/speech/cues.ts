/** What was said, as plain text or subtitles. */

/** Seconds from the beginning of the recording. */
export interface Said {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** Letters of a line, and lines of a cue, as broadcasters have them. */
const [LINE, LINES] = [42, 2];
/** Seconds that a cue is shown at most. */
const LONGEST = 7;
/** Pauses of so many seconds end a cue, and begin a paragraph. */
const [SHORTEST_PAUSE, PARAGRAPH] = [0.3, 2];

/** Paragraphs. */
export function plainText(said: readonly Said[]): string {
  let text = '';
  let end = 0;
  for (const { from, to, text: words } of said) {
    text += text === '' ? words : from - end >= PARAGRAPH ? `\n\n${words}` : gapBefore(words) + words;
    end = to;
  }
  return text === '' ? '' : `${text}\n`;
}

/** Chinese and Japanese have no spaces between sentences. */
const gapBefore = (words: string): string => (/^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(words) ? '' : ' ');

export const srt = (said: readonly Said[]): string =>
  cuesOf(said)
    .map(({ from, to, text }, i) => `${i + 1}\n${clock(from, ',')} --> ${clock(to, ',')}\n${linesOf(text)}\n`)
    .join('\n');

export const vtt = (said: readonly Said[]): string =>
  `WEBVTT\n\n${cuesOf(said)
    .map(
      ({ from, to, text }) =>
        `${clock(from, '.')} --> ${clock(to, '.')}\n${linesOf(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;')}\n`,
    )
    .join('\n')}`;

function clock(seconds: number, point: string): string {
  const ms = Math.round(seconds * 1000);
  const parts = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1000) % 60];
  return `${parts.map((part) => String(part).padStart(2, '0')).join(':')}${point}${String(ms % 1000).padStart(3, '0')}`;
}

/** What is too long to be read at once becomes several cues, whose times follow from their lengths. */
function cuesOf(said: readonly Said[]): Said[] {
  return sentences(said).flatMap(({ from, to, text }) => {
    const count = Math.max(Math.ceil(text.length / (LINE * LINES)), Math.ceil((to - from) / LONGEST));
    const parts = partsOf(text, count);
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    let at = from;
    return parts.map((part) => {
      const begins = at;
      at += ((to - from) * part.length) / length;
      return { from: begins, to: at, text: part };
    });
  });
}

/** What follows without a pause on words that end no sentence belongs to them. */
function sentences(said: readonly Said[]): Said[] {
  const whole: Said[] = [];
  for (const each of said) {
    const last = whole.at(-1);
    const goesOn = last !== undefined && each.from - last.to < SHORTEST_PAUSE && !/[.!?…。！？]["'”’»)]*$/u.test(last.text);
    if (last !== undefined && goesOn && each.to - last.from <= 2 * LONGEST)
      whole[whole.length - 1] = { from: last.from, to: each.to, text: last.text + gapBefore(each.text) + each.text };
    else whole.push(each);
  }
  return whole;
}

/** Parts of about the same length, which end where a sentence does, or at least a word. */
function partsOf(text: string, count: number): string[] {
  const parts: string[] = [];
  let rest = text;
  for (let left = count; left > 1; left--) {
    const ideal = rest.length / left;
    const at = breakNear(rest, ideal);
    parts.push(rest.slice(0, at).trim());
    rest = rest.slice(at).trim();
  }
  return [...parts, rest].filter((part) => part !== '');
}

/** @returns where a text is best cut in two: behind punctuation within a third of the ideal, or else at the nearest space */
function breakNear(text: string, ideal: number): number {
  const cuts = (pattern: RegExp) => [...text.matchAll(pattern)].map(({ index, 0: all }) => index + all.length);
  const nearest = (places: readonly number[]) => [...places].sort((a, b) => Math.abs(a - ideal) - Math.abs(b - ideal))[0];
  const behindMark = nearest(cuts(/[.!?;:,…。！？、，](?=\s|\p{L})/gu));
  if (behindMark !== undefined && Math.abs(behindMark - ideal) <= ideal / 3) return behindMark;
  return (
    nearest(cuts(/\s(?=\S)/g)) ?? [...new Intl.Segmenter().segment(text)].findLast(({ index }) => index <= ideal)?.index ?? text.length
  );
}

const linesOf = (text: string): string => (text.length <= LINE ? text : partsOf(text, LINES).join('\n'));

/** By the extension of what they write. */
export const writers: Readonly<Record<string, (said: readonly Said[]) => string>> & { readonly txt: typeof plainText } = {
  txt: plainText,
  srt,
  vtt,
};
