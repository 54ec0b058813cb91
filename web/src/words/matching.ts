/** Whether a text has the words of a search. */

/** Phrases with commas between them. */
export interface SearchTexts {
  /** By slug. */
  readonly tools: Readonly<Record<string, string>>;
  /** By id. */
  readonly formats: Readonly<Record<string, string>>;
}
/** Without marks on letters: `transparénte`, `kürzen` and `kurzen` are found alike. */
const plain = (text: string): string => text.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '');

/** Characters of a search that are read. */
const LONGEST = 100;
/** Every word has to be a part of some word. @returns what a text has to have */
export function wordsIn(search: string): readonly string[] {
  return plain(search.slice(0, LONGEST))
    .split(/[\s,.]+/)
    .filter((word) => word !== '');
}
/** @param words of `wordsIn` */
export const fits = (words: readonly string[], texts: readonly string[]): boolean => {
  const text = plain(texts.join(' '));
  return words.every((word) => text.includes(word));
};
