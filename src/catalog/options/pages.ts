/** Page selections: `1`, `2-5,8`, `all`, as ranges of page numbers that count from 1. */

import { misfit } from '../../errors.ts';
import { MAX_PAGES } from '../bounds.ts';

/** First and last page, both included; `Infinity` is never used: `all` is one range up to the bound. */
export type PageRange = [first: number, last: number];

/** @returns the ranges in the order given, or an empty list where the text is no selection */
export function pageRanges(selection: string): PageRange[] {
  if (selection.toLowerCase() === 'all') return [[1, MAX_PAGES]];
  const ranges: PageRange[] = [];
  for (const part of selection.split(',')) {
    const match = /^\s*(\d{1,4})(?:\s*-\s*(\d{1,4}))?\s*$/.exec(part);
    if (match === null) return [];
    const first = Number(match[1]);
    const last = match[2] === undefined ? first : Number(match[2]);
    if (first < 1 || last < first || last > MAX_PAGES) return [];
    ranges.push([first, last]);
  }
  return ranges;
}

/** The selected page numbers that exist, each once, in the requested order. @param count pages of the document */
export function selectPages(ranges: readonly PageRange[] | undefined, count: number): number[] {
  const chosen = new Set<number>();
  for (const [first, last] of ranges ?? [[1, count]]) for (let page = first; page <= Math.min(last, count); page++) chosen.add(page);
  return [...chosen];
}

/**
 * The same, with a warning if the selection goes beyond the last page.
 * @throws Failure `INVALID_OPTION` if the document has none of the pages
 */
export function choosePages(ranges: readonly PageRange[] | undefined, count: number) {
  const pages = selectPages(ranges, count);
  if (pages.length === 0)
    throw misfit({
      option: 'pages',
      received: pagesAsText(ranges ?? []),
      allowed: pagesFrom1To(count),
      says: `The file has ${pagesOf(count)}; the first requested page is ${Math.min(...(ranges ?? []).map(([first]) => first))}.`,
    });
  const message = `The document has ${count} pages; requested pages after the last one were ignored.`;
  return { pages, warnings: reachesBeyond(ranges, count) ? [{ code: 'pages_beyond_end', message }] : [] };
}

/**
 * The page numbers of the results of a selection: of a document with more pages it has more results, so their number tells which there were.
 * @returns one for each result; undefined where so many cannot be of this selection
 */
export function pagesOfResults(ranges: readonly PageRange[], results: number): readonly number[] | undefined {
  let [low, high] = [1, MAX_PAGES];
  while (low < high) {
    const count = (low + high) >> 1;
    if (selectPages(ranges, count).length < results) low = count + 1;
    else high = count;
  }
  const pages = selectPages(ranges, low);
  return pages.length === results ? pages : undefined;
}

/** The notation that `pageRanges` parses. */
export const pagesAsText = (ranges: readonly PageRange[]): string =>
  ranges
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`))
    .join(',')
    .slice(0, 100);

export const pagesOf = (count: number): string => (count === 1 ? 'one page' : `${count} pages`);
export const pagesFrom1To = (count: number): string => (count === 1 ? 'page 1, the only one' : `pages from 1 to ${count}`);

/** `all` is a range up to the bound, and does not go beyond the end. */
const reachesBeyond = (asked: readonly PageRange[] | undefined, count: number): boolean =>
  (asked ?? []).some(([first, last]) => last > count && !(first === 1 && last === MAX_PAGES));
