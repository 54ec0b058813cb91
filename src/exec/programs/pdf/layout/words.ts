/** Words and their places, as Poppler and Tesseract list them: a line for each, of twelve columns (pdftotext(1), "-tsv"; tesseract(1), "tsv"). */
import { beyond } from '../../data/values/value.ts';

/** From the upper left corner of a page, in the unit of the list. */
export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export interface Word extends Box {
  readonly text: string;
  /** Height of its font's letters, from the highest to the lowest. */
  readonly size: number;
}

export interface Line extends Box {
  readonly page: number;
  /** Lines of one block belong together. */
  readonly block: string;
  readonly words: readonly Word[];
  /** It was recognised in a picture. */
  readonly isSeen: boolean;
}

const WORD = '5';
const MOST_LISTED = 5_000_000;

/** In reading order. @throws Unfit */
export function linesIn(list: string): readonly Line[] {
  const lines: { readonly key: string; readonly page: number; readonly block: string; readonly isSeen: boolean; readonly words: Word[] }[] =
    [];
  let count = 0;
  for (const row of list.split('\n')) {
    const columns = row.split('\t');
    const text = (columns[11] ?? '').replace(/[\0-\x20\xad]+/g, '');
    if (columns[0] !== WORD || text === '') continue;
    if (++count > MOST_LISTED) throw beyond('words', MOST_LISTED);
    const [left = 0, top = 0, width = 0, height = 0] = columns.slice(6, 10).map(Number);
    const block = columns.slice(1, 4).join(' ');
    const key = `${block} ${columns[4]}`;
    // Poppler is certain.
    const isSeen = columns[10]?.trim() !== '100';
    if (lines.at(-1)?.key !== key) lines.push({ key, page: Number(columns[1]), block, isSeen, words: [] });
    // Printed words are as high as their font, and seen ones as their letters.
    const size = isSeen ? height / shareOf(text) : height;
    lines.at(-1)?.words.push({ text, size, left, top, right: left + width, bottom: top + height });
  }
  return lines.map(({ page, block, isSeen, words }) => ({ page, block, isSeen, words, ...boxAround(words) }));
}

export function boxAround(boxes: readonly Box[]): Box {
  const box = {
    left: Number.POSITIVE_INFINITY,
    right: Number.NEGATIVE_INFINITY,
    top: Number.POSITIVE_INFINITY,
    bottom: Number.NEGATIVE_INFINITY,
  };
  for (const { left, right, top, bottom } of boxes) {
    box.left = Math.min(box.left, left);
    box.right = Math.max(box.right, right);
    box.top = Math.min(box.top, top);
    box.bottom = Math.max(box.bottom, bottom);
  }
  return box;
}

/** What stands at one height, from left to right. */
export function inRows<Each extends Box>(boxes: readonly Each[]): readonly (readonly Each[])[] {
  const rows: Each[][] = [];
  for (const box of boxes.toSorted((one, other) => one.top + one.bottom - other.top - other.bottom)) {
    const first = rows.at(-1)?.[0];
    if (first !== undefined && (box.top + box.bottom) / 2 < first.top + 0.75 * (first.bottom - first.top)) rows.at(-1)?.push(box);
    else rows.push([box]);
  }
  return rows.map((row) => row.toSorted((one, other) => one.left - other.left));
}

/** What most of its words have. */
export function usualSize({ words }: Pick<Line, 'words'>): number {
  const sizes = words.map(({ size }) => size).toSorted((one, other) => one - other);
  return sizes[sizes.length >> 1] ?? 0;
}

/** How much of its font's height the letters of a word take: those above and below the small ones take about a quarter each. */
function shareOf(text: string): number {
  const above = /[\p{Lu}\p{N}bdfhijklt'"(|/]/u.test(text) ? 0.23 : 0;
  const below = /[gjpqy,;(|/]/.test(text) ? 0.23 : 0;
  return 0.54 + above + below;
}

export const spaced = (words: readonly Word[]): string => words.map(({ text }) => text).join(' ');
