/** The encoding of a few words: statistics say little of them, but in the wrong one they do not read as words. */

/** Texts with more bytes above ASCII, and lines around them, are left to statistics. */
export const FEW_BYTES = 200;

/** The letters of each script, and what such a text must have: a single letter may as well be one of another. */
const KOREAN = { letter: /[\uac00-\ud7a3]/, sign: /[\uac00-\ud7a3].{0,9}[\uac00-\ud7a3]/s };
const JAPANESE = { letter: /[\p{Script=Han}々\p{Script=Hiragana}\u30a1-\u30fe]/u, sign: /[\p{Script=Hiragana}\u30a1-\u30fe]/u };
const CHINESE = { letter: /\p{Script=Han}/u, sign: /\p{Script=Han}.{0,9}\p{Script=Han}/su };
const CYRILLIC = { letter: /\p{Script=Cyrillic}/u, sign: /\p{Script=Cyrillic}.{0,9}\p{Script=Cyrillic}/su };
const GREEK = { letter: /\p{Script=Greek}/u, sign: /\p{Script=Greek}.{0,9}\p{Script=Greek}/su };
const HEBREW = { letter: /\p{Script=Hebrew}/u, sign: /\p{Script=Hebrew}.{0,9}\p{Script=Hebrew}/su };
const ARABIC = { letter: /\p{Script=Arabic}/u, sign: /\p{Script=Arabic}.{0,9}\p{Script=Arabic}/su };
const LATIN = { letter: /\p{Script=Latin}/u, sign: /\p{Script=Latin}.{0,9}\p{Script=Latin}/su };
type Script = typeof LATIN;

/** Letters of these have no other meaning: they are looked for before what statistics say. */
const CERTAIN: readonly (readonly [string, Script])[] = [
  ['EUC-KR', KOREAN],
  ['EUC-JP', JAPANESE],
  ['Shift_JIS', JAPANESE],
];
const POSSIBLE: readonly (readonly [string, Script])[] = [
  ['Windows-1251', CYRILLIC],
  ['KOI8-U', CYRILLIC],
  ['IBM866', CYRILLIC],
  ['Windows-1253', GREEK],
  ['ISO-8859-5', CYRILLIC],
  ['Windows-1255', HEBREW],
  ['Windows-1256', ARABIC],
  ['GB18030', CHINESE],
  ['Big5', CHINESE],
];
const SCRIPTS = [CYRILLIC, GREEK, HEBREW, ARABIC, LATIN];

/** @param likely what statistics say, the likeliest first @returns undefined where the words read in none */
export function charsetOfWords(bytes: Buffer, likely: readonly string[]): string | undefined {
  const read = ([encoding, script]: readonly [string, Script]) => reads(bytes, encoding, [script]);
  return CERTAIN.find(read)?.[0] ?? likely.find((encoding) => reads(bytes, encoding, SCRIPTS)) ?? POSSIBLE.find(read)?.[0];
}

/** What stands around words in most languages: no lines of boxes, and no fractions. */
const PLAIN = /^[\p{L}\p{M}\d\s!-/:-@[-`{-~\u00a0«»„“”‘’–—…№§©®°·、。「」『』（）！？：；，．・《》]*$/u;

function reads(bytes: Buffer, encoding: string, scripts: readonly Script[]): boolean {
  let text: string;
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return false;
  }
  if (!PLAIN.test(text)) return false;
  const words = [...text.matchAll(/[\p{L}\p{M}]+/gu)].map(([word]) => word).filter((word) => !/^[a-z]+$/i.test(word));
  return scripts.some((script) => script.sign.test(text) && words.every((word) => isWord(word, script)));
}

/** In letters of one script, in capitals or with one at most; of Latin ones, most are in ASCII. */
function isWord(word: string, { letter }: Script): boolean {
  const letters = [...word].filter((each) => !/\p{M}/u.test(each));
  const rest = word.slice(1);
  const isInCase = word === word.toUpperCase() || rest === rest.toLowerCase();
  const isSpelt = letter !== LATIN.letter || letters.length < 2 || letters.some((each) => each < '\x80');
  return isInCase && isSpelt && letters.every((each) => letter.test(each));
}
