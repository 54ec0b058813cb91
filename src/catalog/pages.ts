/** Page selections: `1`, `2-5,8`, `all`, as ranges of page numbers that count from 1. */

/** First and last page, both included; `Infinity` is never used: `all` is one range up to the bound. */
export type PageRange = [first: number, last: number];

/** No document with more pages is converted, so no selection reaches further. */
export const MAX_PAGES = 2000;

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

/** The page numbers that a selection names and the document has, each once, in the order asked for. @param count pages of the document */
export function selectPages(ranges: readonly PageRange[] | undefined, count: number): number[] {
  const chosen = new Set<number>();
  for (const [first, last] of ranges ?? [[1, count]]) for (let page = first; page <= Math.min(last, count); page++) chosen.add(page);
  return [...chosen];
}
