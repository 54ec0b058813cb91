/** The words of a text, as receipts compare them: letters and digits, whatever stands between, each once. */

/** Words of one text; fewer of a source are compared, since its result may have headers and numbers between them. */
const MOST_WORDS = 20_000;
const MOST_COMPARED = 5_000;
/** Characters that are looked through. */
const MOST_TEXT = 4 << 20;

/** Most of a word that is looked at, and of what it is normalized to: normalizing takes the square of the marks on one letter, and a ligature may be a phrase. */
const MOST_WORD = 64;
const MOST_NORMALIZED = 128;

/** Where no spaces are, each letter is a word. The number of a note may stand at the end of one. */
const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}][\u3099\u309a\uff9e\uff9f]?|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}])[\p{L}\p{M}])+|\p{N}+/gu;

/** The distinct words, in order, in lower case. */
export function distinctWords(text: string): readonly string[] {
  const [words, seen] = [new Set<string>(), new Set<string>()];
  for (const [whole] of text.slice(0, MOST_TEXT).replaceAll('\u00ad', '').matchAll(WORD)) {
    const written = whole.slice(0, MOST_WORD);
    if (seen.has(written)) continue;
    seen.add(written);
    for (const word of plain(written)) words.add(word);
    if (words.size >= MOST_WORDS) break;
  }
  return [...words];
}

/** Words that a hyphen at the end of a line cuts in two, as they would stand within one. */
export const joinedWords = (text: string): readonly string[] =>
  distinctWords([...text.slice(0, MOST_TEXT).matchAll(CUT)].map(([, begin, end]) => `${begin}${end}`).join(' '));
const CUT = /(?<![\p{L}\p{M}])([\p{L}\p{M}]{1,40})[-\u00ad\u2010]\r?\n[ \t]{0,20}([\p{L}\p{M}]{1,40})/gu;

/** Those of a table, where numbers and dates look as programs please. */
export const cellWords = (text: string): readonly string[] => distinctWords(text).filter((word) => /^\p{L}+$/u.test(word));

/** Ligatures and the like as the letters that they show; the accents that a PDF has apart are no difference. @param word with at most `MOST_WORD` characters */
function plain(word: string): readonly string[] {
  if (ASCII.test(word)) return [word.toLowerCase()];
  const normalized = word.normalize('NFKC').slice(0, MOST_NORMALIZED).toLowerCase();
  return normalized.match(WORD) ?? [];
}
const ASCII = /^[\w]+$/;

/** So many are looked for in parts; of more, these tell how many of all are there. */
const MOST_PARTS = 64;
/** Shorter ones would be found in others. */
const LEAST_PART = 4;

/** @param joined of a result with lines @returns how many of these words are among those of the result; one that a line end cut in two is found, too */
export function foundWords(compared: readonly string[], result: readonly string[], joined: readonly string[] = []): number {
  const there = new Set([...result, ...joined]);
  const missing = compared.filter((word) => !there.has(word));
  if (missing.length === 0) return compared.length;
  const all = result.join('');
  const step = Math.max(1, missing.length / MOST_PARTS);
  const tried = missing.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
  const found = tried.filter((word) => word.length >= LEAST_PART && all.includes(word)).length;
  return compared.length - Math.round(missing.length * (1 - found / tried.length));
}

/** Pages of a PDF whose text is read for a receipt, at most: a full page takes 7 ms. */
export const MEASURED_PAGES = 30;

/** @param read words of the first pages alone, where the result has more: what is in the first half of them is compared */
export const comparedWords = (words: readonly string[], read?: readonly string[]): readonly string[] =>
  words.slice(0, read === undefined ? MOST_COMPARED : Math.floor(read.length / 2));
