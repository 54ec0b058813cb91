/** Words and their places, as Poppler and Tesseract list them: a line for each, of twelve columns (pdftotext(1), "-tsv"; tesseract(1), "tsv"). */
import { beyond } from '../../data/values/value.ts';
import { type Box, boxAround, type Word } from './boxes.ts';
import { putInReadingOrder } from './direction.ts';

export interface Line extends Box {
  readonly page: number;
  /** Lines of one block belong together. */
  readonly block: string;
  readonly words: readonly Word[];
  /** It was recognised in a picture. */
  readonly isSeen: boolean;
  /** How sure that is, 0 to 1; what is printed is certain. */
  readonly confidence: number;
}

/** A page's number and size, in the unit of the list. */
export interface PageSize {
  readonly number: number;
  readonly width: number;
  readonly height: number;
}

const [PAGE, WORD] = ['1', '5'];
const MOST_LISTED = 5_000_000;

/** In reading order. @throws FileRefused */
export function linesIn(list: string): readonly Line[] {
  const lines: {
    readonly key: string;
    readonly page: number;
    readonly block: string;
    readonly isSeen: boolean;
    sure: number;
    words: Word[];
  }[] = [];
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
    const sure = Number(columns[10]);
    const isSeen = sure !== 100;
    if (lines.at(-1)?.key !== key) lines.push({ key, page: Number(columns[1]), block, isSeen, sure: 0, words: [] });
    // Printed words are as high as their font, and seen ones as their letters.
    const size = isSeen ? height / shareOf(text) : height;
    const line = lines.at(-1);
    line?.words.push({ text, size, left, top, right: left + width, bottom: top + height });
    if (line !== undefined) line.sure += Number.isFinite(sure) ? sure / 100 : 0;
  }
  putInReadingOrder(lines);
  return lines.map(({ page, block, isSeen, sure, words }) => {
    const confidence = Math.min(1, Math.max(0, sure / words.length));
    return { page, block, isSeen, confidence, words, ...boxAround(words) };
  });
}

/** Each page once, in order. */
export function pagesIn(list: string): readonly PageSize[] {
  const pages = new Map<number, PageSize>();
  for (const row of list.split('\n')) {
    if (!row.startsWith(`${PAGE}\t`)) continue;
    const columns = row.split('\t');
    const [number = 0, width = 0, height = 0] = [columns[1], columns[8], columns[9]].map(Number);
    pages.set(number, { number, width, height });
  }
  return [...pages.values()];
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
