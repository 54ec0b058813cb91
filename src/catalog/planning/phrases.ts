/** Maps a program's error messages to meanings by the phrases in them, in time linear in their length. */

/** Tried in order. In a phrase, one `…` stands for anything within one line; case is ignored. */
export type Meanings<T> = readonly (readonly [phrases: readonly string[], meaning: T])[];

/** @returns the first meaning with a phrase in `output`; undefined if there is none */
export function meaningOf<T>(output: string, meanings: Meanings<T>): T | undefined {
  const text = output.toLowerCase();
  return meanings.find(([phrases]) => phrases.some((phrase) => holds(text, phrase.toLowerCase())))?.[1];
}

/** Linear: no part of the text is searched twice for the phrase's beginning, its end, or an end of line. */
function holds(text: string, phrase: string): boolean {
  const [begin = '', end] = phrase.split('…');
  if (end === undefined) return text.includes(begin);
  let endAt = -1;
  for (let at = text.indexOf(begin); at >= 0; ) {
    const from = at + begin.length;
    if (endAt < from) endAt = text.indexOf(end, from);
    if (endAt < 0) return false;
    const lineEnd = text.indexOf('\n', from);
    if (lineEnd < 0 || endAt < lineEnd) return true;
    at = text.indexOf(begin, lineEnd);
  }
  return false;
}
