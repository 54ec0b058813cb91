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

/** In ascending order, neighbours as a range. */
export function textOf(pages: ReadonlySet<number>): string {
  const ranges: [first: number, last: number][] = [];
  for (const page of [...pages].sort((a, b) => a - b)) {
    const before = ranges.at(-1);
    if (before?.[1] === page - 1) before[1] = page;
    else ranges.push([page, page]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',');
}
