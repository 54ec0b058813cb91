/** Headings, paragraphs, lists and tables of a text, by the places and sizes of its words. */
import { withMarks } from './marks.ts';
import { type PlacedTable, tablesOn } from './tables.ts';
import { type Line, spaced, usualSize } from './words.ts';

/** What stands in lines: as they are in the text, and where each is. */
interface LinedPart {
  readonly lines: string[];
  readonly places: Line[];
}

export type PagePart =
  | (LinedPart & { readonly kind: 'heading'; readonly level: number })
  | (LinedPart & { readonly kind: 'paragraph' })
  /** @param depth 0 for the outermost list */
  | (LinedPart & { readonly kind: 'item'; readonly depth: number; readonly number: number | undefined })
  | { readonly kind: 'table'; readonly table: PlacedTable };

/** A heading is larger than the text, and no longer than this, words. */
const [LARGER, LONGEST_HEADING] = [1.15, 25];
/** Sizes that differ less are one. */
const SAME = 1.1;
const [MOST_LEVELS, MOST_LISTS] = [6, 8];
/** In heights of the letters: a paragraph ends before a wider space, and an item of a list stands within another one. */
const [SPACE, INDENT] = [0.8, 0.6];

/** Symbol fonts have bullets where Unicode has no letters. */
const BULLET = /^[•◦▪▫‣●○■□▶➢✓✔∙·\uf0a7\uf0b7\uf0d8]\s*(?=\S)/;
/** It may as well stand within a sentence. */
/** What OCR takes a bullet for, where a line may begin with none of these. */
const SEEN_BULLET = /^[©®°«»¢*+.e]\s+(?=\S)/;
const DASH = /^[-–—*o]\s+(?=\S)/;
const NUMBER = /^\(?(\d{1,3})[.)]\s+(?=\S)/;

export function layoutOf(all: readonly Line[]): readonly PagePart[] {
  const pages = pagesOf(all).map(withMarks);
  const lines = pages.flat();
  const tables = new Map(pages.flatMap((page) => [...tablesOn(page)]));
  const waiting = [...new Set(tables.values())];
  const levels = levelsOf(lines);
  const ends = endsOf(lines);
  const parts: PagePart[] = [];
  /** The lists that are open, by where their items begin. */
  let lists: readonly number[] = [];
  let before: { readonly line: Line; readonly height: number } | undefined;

  for (const line of lines) {
    const inLine = new Set(line.words.map((word) => tables.get(word)));
    // A list may be read before the table that stands above it.
    for (let [table] = waiting; table !== undefined && (inLine.has(table) || isAbove(table, line)); [table] = waiting) {
      parts.push({ kind: 'table', table });
      waiting.shift();
      before = undefined;
    }
    const words = line.words.filter((word) => !tables.has(word));
    if (words.length === 0) continue;
    const [text, height, last] = [spaced(words), usualSize({ words }), parts.at(-1)];
    const isSameBlock = before?.line.block === line.block;
    const isNear = before !== undefined && isSameBlock && line.top - before.line.bottom < SPACE * height;
    const isSameSize = before !== undefined && isAlike(before.height, height, LARGER);
    const level = words.length > LONGEST_HEADING ? undefined : levels(height);
    const { left, right } = words[0] ?? line;
    // There was room for the word in the line before.
    const begins = before !== undefined && isSameBlock && before.line.right + (right - left) + height / 3 < (ends.get(line.block) ?? 0);
    const mayBegin = !isSameBlock || begins || last?.kind === 'item' || last?.kind === 'heading';
    const item = level === undefined ? itemIn(text, mayBegin, line.isSeen) : undefined;

    if (item !== undefined) {
      const outer = last?.kind === 'item' ? lists.filter((place) => place < left - INDENT * height) : [];
      lists = [...outer.slice(0, MOST_LISTS - 1), left];
      parts.push({ kind: 'item', depth: lists.length - 1, number: item.number, lines: [item.text], places: [line] });
    } else if (level !== undefined) {
      if (last?.kind === 'heading' && isNear && isSameSize) goOn(last, text, line);
      else parts.push({ kind: 'heading', level, lines: [text], places: [line] });
    } else if (last?.kind === 'item' && isNear && !begins && left > (lists.at(-1) ?? 0)) goOn(last, text, line);
    else if (last?.kind === 'paragraph' && isSameSize && !begins && (isNear || goesOn(last.lines.at(-1) ?? '', text)))
      goOn(last, text, line);
    else parts.push({ kind: 'paragraph', lines: [text], places: [line] });
    before = { line, height };
  }
  return parts;
}

function goOn(part: LinedPart, text: string, line: Line): void {
  part.lines.push(text);
  part.places.push(line);
}

function pagesOf(lines: readonly Line[]): readonly (readonly Line[])[] {
  const pages = new Map<number, Line[]>();
  for (const line of lines) {
    const page = pages.get(line.page) ?? [];
    page.push(line);
    pages.set(line.page, page);
  }
  return [...pages.values()];
}

const isAbove = (table: PlacedTable, line: Line): boolean =>
  table.page < line.page || (table.page === line.page && table.box.bottom <= (line.top + line.bottom) / 2);

const isAlike = (one: number, other: number, tolerance = SAME): boolean => Math.max(one, other) < tolerance * Math.min(one, other);

/** Where the longest line of each block ends. */
function endsOf(lines: readonly Line[]): ReadonlyMap<string, number> {
  const ends = new Map<string, number>();
  for (const { block, right } of lines) ends.set(block, Math.max(right, ends.get(block) ?? 0));
  return ends;
}

/** @returns the level of a heading with letters of some height; undefined for those of the text, which most letters have */
function levelsOf(lines: readonly Line[]): (height: number) => number | undefined {
  const letters = new Map<number, number>();
  for (const line of lines) {
    const height = Math.round(usualSize(line) * 2) / 2;
    letters.set(height, (letters.get(height) ?? 0) + spaced(line.words).length);
  }
  const [usual = 0] = [...letters].toSorted(([, one], [, other]) => other - one)[0] ?? [];
  const sizes: number[] = [];
  for (const size of [...letters.keys()].filter((height) => height >= LARGER * usual).toSorted((one, other) => other - one))
    if (sizes.length === 0 || !isAlike(sizes.at(-1) ?? 0, size)) sizes.push(size);
  return (height) => {
    if (height < LARGER * usual - 0.25) return undefined;
    const level = sizes.findIndex((size) => isAlike(size, height) || size < height);
    return Math.min(MOST_LEVELS, (level < 0 ? sizes.length - 1 : level) + 1);
  };
}

/** @param mayBegin whether a line of text would not go on here */
function itemIn(
  text: string,
  mayBegin: boolean,
  isSeen: boolean,
): { readonly text: string; readonly number: number | undefined } | undefined {
  const marks = [BULLET, ...(mayBegin ? [DASH] : []), ...(mayBegin && isSeen ? [SEEN_BULLET] : [])];
  const mark = marks.find((each) => each.test(text));
  if (mark !== undefined) return { text: text.replace(mark, ''), number: undefined };
  const number = mayBegin ? NUMBER.exec(text)?.[1] : undefined;
  return number === undefined ? undefined : { text: text.replace(NUMBER, ''), number: Number(number) };
}

/** Whether a paragraph of one page or column goes on in the next. */
const goesOn = (line: string, next: string): boolean => !/[.!?:;"”»)\]]/.test(line.slice(-1)) && /^\p{Ll}/u.test(next);

/** One line; a word that was divided at the end of a line is whole. */
export function joined(lines: readonly string[]): string {
  return lines
    .map((line, at) => {
      const next = lines[at + 1];
      if (next === undefined) return line;
      return /\p{Ll}-$/u.test(line.slice(-2)) && /^\p{Ll}/u.test(next) ? line.slice(0, -1) : `${line} `;
    })
    .join('');
}
