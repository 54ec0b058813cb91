/** Page numbers as the service reads them, `1,3,5-8`, and as a set. */

/** What is being typed is read as far as it goes. @param count pages of the file: there are no others @returns numbers from 1 on */
export function pagesIn(text: string, count: number): ReadonlySet<number> {
  const chosen = new Set<number>();
  if (/^\s*all\s*$/i.test(text)) return pagesIn(`1-${count}`, count);
  for (const part of text.split(',')) {
    const [, first, last = first] = /^\s*(\d+)(?:\s*-\s*(\d+))?\s*$/.exec(part) ?? [];
    for (let page = Math.max(1, Number(first)); page <= Math.min(count, Number(last)); page++) chosen.add(page);
  }
  return chosen;
}

/** The same in the order that the text has, each page once. */
export function orderIn(text: string, count: number): readonly number[] {
  const order = new Set<number>();
  for (const part of text.split(',')) for (const page of pagesIn(part, count)) order.add(page);
  return [...order];
}

/** What `orderIn` reads: neighbours that ascend are a range. */
export function textOfOrder(order: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const page of order) {
    const before = ranges.at(-1);
    if (before?.[1] === page - 1) before[1] = page;
    else ranges.push([page, page]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',');
}

/** In ascending order, neighbours as a range. */
export const textOf = (pages: ReadonlySet<number>): string => textOfOrder([...pages].sort((a, b) => a - b));
