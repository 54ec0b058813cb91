/** Lines as they are seen on a page, and as they are read. */
import { expect, it } from 'vitest';
import { inReadingOrder, isRightToLeft } from '../../../../src/exec/programs/text/right-to-left.ts';

it.each<[what: string, seen: string, read: string]>([
  ['a line of Hebrew', 'םלוע םולש', 'שלום עולם'],
  ['a number in it, with its sign', '.ריחמ 3.5% םגו', 'וגם 3.5% מחיר.'],
  ['words of another script in it', 'הרוש ךותב ABC def-ו', 'ו-ABC def בתוך שורה'],
  ['brackets that the file has as they are read', 'הרושה )םיירגוס( ךותב', 'בתוך (סוגריים) השורה'],
  ['brackets that the file has as they are seen', 'הרושה (םיירגוס) ךותב', 'בתוך (סוגריים) השורה'],
  [
    'marks of vowels before the letters that they belong to',
    '\u05d0\u05b8\u05e8\u05b8\u05bc\u05d1',
    '\u05d1\u05bc\u05b8\u05e8\u05b8\u05d0',
  ],
  ['Arabic letters by the shape that they have in a word', 'ﺔﻘﻴﺛو هﺬﻫ', 'هذه وثيقة'],
  ['a ligature', 'رﺎﺒﺘﺧﻼﻟ', 'للاختبار'],
  ['a line of English with Hebrew words', 'A line with םלוע םולש in it.', 'A line with שלום עולם in it.'],
  ['a line of English', 'A line (of 3.5 %).', 'A line (of 3.5 %).'],
])('%s', (_, seen, read) => {
  expect(inReadingOrder(seen)).toBe(read);
});

it('is the direction of most letters', () => {
  expect([isRightToLeft('ABC םולש'), isRightToLeft('AB םולש'), isRightToLeft('12 (3)')]).toEqual([true, true, false]);
});

const DIGITS = '1'.repeat(150_000);
const DOTS = '.'.repeat(150_000);
const SIGNS = '%'.repeat(150_000);

it.each<[what: string, seen: string, read: string]>([
  ['a number', `א${DIGITS}`, `${DIGITS}א`],
  ['what follows a number', `א1${DOTS}ב`, `ב${DOTS}1א`],
  ['what stands between numbers', `א1${DOTS}2ב`, `ב1${DOTS}2א`],
  ['signs behind a number', `א1${SIGNS}ב`, `ב${SIGNS.slice(1)}1%א`],
])('a line with a hundred thousand characters in it: %s', (_, seen, read) => {
  // Not by toBe, which would print them.
  expect(inReadingOrder(seen, true) === read).toBe(true);
});

it('a line of English with a hundred thousand Hebrew letters', () => {
  const [letters, between] = ['א'.repeat(150_000), '-'.repeat(150_000)];
  expect(inReadingOrder(`a ${letters}${between}${letters}ב${between} b`, false) === `a ב${letters}${between}${letters}${between} b`).toBe(
    true,
  );
});
