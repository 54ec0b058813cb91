/** Which language a text is in that was read as another one: by its small words, and by letters that others do not have. */

/** Tesseract's codes by the scripts that it tells apart; where there are several, the one that is read best. */
export const LANGUAGES_OF_SCRIPTS: Readonly<Record<string, readonly string[]>> = {
  Latin: ['eng'],
  Fraktur: ['deu'],
  Cyrillic: ['rus'],
  Arabic: ['ara'],
  Devanagari: ['hin'],
  Han: ['chi_sim', 'chi_tra'],
  HanS: ['chi_sim'],
  HanT: ['chi_tra'],
  Japanese: ['jpn'],
  Hiragana: ['jpn'],
  Katakana: ['jpn'],
  Hangul: ['kor'],
  Korean: ['kor'],
};

/** BCP 47 by Tesseract's codes. */
export const TAGS: Readonly<Record<string, string>> = {
  eng: 'en',
  deu: 'de',
  fra: 'fr',
  spa: 'es',
  ita: 'it',
  por: 'pt',
  nld: 'nl',
  pol: 'pl',
  rus: 'ru',
  ukr: 'uk',
  tur: 'tr',
  ara: 'ar',
  hin: 'hi',
  jpn: 'ja',
  kor: 'ko',
  chi_sim: 'zh-Hans',
  chi_tra: 'zh-Hant',
};

/** Frequent words that the other languages here do not have, without marks: what is read as English loses them. */
const SMALL_WORDS: Readonly<Record<string, readonly string[]>> = {
  eng: ['the', 'and', 'of', 'to', 'that', 'is', 'with', 'for', 'this', 'are'],
  deu: ['der', 'die', 'und', 'das', 'nicht', 'ist', 'mit', 'ein', 'eine', 'auf', 'dem', 'den', 'zu', 'von', 'sich'],
  fra: ['le', 'les', 'et', 'des', 'est', 'dans', 'une', 'pour', 'qui', 'sur', 'pas', 'avec', 'nous', 'vous', 'du'],
  spa: ['el', 'los', 'las', 'y', 'del', 'por', 'con', 'para', 'se', 'una', 'como', 'pero', 'esta', 'muy'],
  ita: ['il', 'che', 'di', 'per', 'non', 'sono', 'della', 'gli', 'nel', 'anche', 'piu', 'alla', 'questo'],
  por: ['os', 'nao', 'uma', 'com', 'para', 'dos', 'mais', 'pelo', 'ao', 'em', 'sao', 'muito', 'isso'],
  nld: ['het', 'een', 'van', 'en', 'niet', 'zijn', 'voor', 'met', 'dat', 'op', 'ook', 'maar', 'aan'],
  pol: ['nie', 'jest', 'sie', 'na', 'do', 'ze', 'to', 'przez', 'od', 'dla', 'ktory', 'jak', 'oraz'],
  tur: ['ve', 'bir', 'bu', 'icin', 'ile', 'cok', 'daha', 'olarak', 'gibi', 'ama', 'olan', 'ne'],
};
/** Letters of Ukrainian that Russian does not have, and those of Russian alone. */
const [UKRAINIAN, RUSSIAN] = [/[іїєґi]/giu, /[ыэъё]/giu];
/** Words that a text is judged by at most, and how many times as many another language needs. */
const [MOST, CLEARLY] = [5000, 1.3];

/** @param words as they were read @param language that they were read in @returns Tesseract's code of the likely one */
export function likelyLanguage(words: readonly string[], language: string): string {
  const some = words.slice(0, MOST);
  if (language === 'rus') {
    const text = some.join(' ');
    return (text.match(UKRAINIAN)?.length ?? 0) > (text.match(RUSSIAN)?.length ?? 0) ? 'ukr' : 'rus';
  }
  if (language !== 'eng') return language;
  const plain = some.map((word) =>
    word
      .toLowerCase()
      .normalize('NFD')
      .replace(/[^\p{L}]/gu, ''),
  );
  const counts = Object.entries(SMALL_WORDS).map(([code, small]) => [code, plain.filter((word) => small.includes(word)).length] as const);
  const english = counts.find(([code]) => code === 'eng')?.[1] ?? 0;
  const [best, count] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? ['eng', 0];
  return count >= 2 && count > english * CLEARLY ? best : 'eng';
}
