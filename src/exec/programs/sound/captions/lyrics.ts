/** Lyrics with times (LRC): `[01:02.50]` before each line, which may have several. */
import type { Cue } from './cues.ts';

const TIME = /^\s{0,9}\[(\d{1,3}):(\d{1,2})(?:[.:](\d{1,3}))?\]/;
/** Positive: lines come so many ms sooner. */
const OFFSET = /^\[offset:\s{0,9}([+-]?\d{1,6})\s{0,9}\]/im;
/** Times of words within a line. */
const OF_WORDS = /<\d{1,3}:\d{1,2}(?:[.:]\d{1,3})?>/g;

export function lyricsIn(text: string): readonly Cue[] {
  const sooner = Number(OFFSET.exec(text)?.[1] ?? 0) / 1000;
  return text.split(/\r\n|\r|\n/).flatMap((line) => {
    const times: number[] = [];
    let rest = line;
    for (let found = TIME.exec(rest); found !== null; found = TIME.exec(rest)) {
      const [all, minutes, seconds, fraction = '0'] = found;
      times.push(Math.max(0, Number(minutes) * 60 + Number(seconds) + Number(`0.${fraction}`) - sooner));
      rest = rest.slice(all.length);
    }
    const words = rest.replace(OF_WORDS, '').trim();
    return times.map((from) => ({ from, to: undefined, text: words }));
  });
}
