/** What a program's words on standard error mean, by the phrases in them: found in time that grows with the length of the words alone. */

/** Looked through in order. In a phrase one `…` stands for anything within one line; case does not count. */
export type Meanings<T> = readonly (readonly [phrases: readonly string[], meaning: T])[];

/** @returns the first meaning of which a phrase was said; undefined where none was */
export function meaningOf<T>(words: string, meanings: Meanings<T>): T | undefined {
  const text = words.toLowerCase();
  return meanings.find(([phrases]) => phrases.some((phrase) => holds(text, phrase.toLowerCase())))?.[1];
}

/** Neither the beginning, nor the end, nor the ends of lines are ever looked for where they were looked for before. */
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
