/** Tables of a document as rows of cells, each in its column. */
import { beyond, boundCells } from '../../data/values/value.ts';
import type { Block, Cell } from './model.ts';

export interface FoundTable {
  readonly caption?: string;
  readonly rows: readonly (readonly Cell[])[];
}

/** Columns of a sheet: nothing that is wider can be opened. */
const MOST_COLUMNS = 16_384;

/** @param blocks in reading order @returns its tables; one that goes on at the top of the next page is one */
export function tablesIn(blocks: readonly Block[]): readonly FoundTable[] {
  const tables: { caption?: string; rows: (readonly Cell[])[]; page: number }[] = [];
  let isOpen = false;
  for (const block of blocks) {
    if (block.type === 'header' || block.type === 'footer') continue;
    if (block.type !== 'table') {
      isOpen = false;
      continue;
    }
    const page = block.boxes?.[0]?.page ?? 0;
    const [last, [head = []]] = [tables.at(-1), block.rows];
    if (isOpen && last !== undefined && page > 0 && page === last.page + 1 && head.length === last.rows[0]?.length) {
      const isRepeated = isHead(head) && isAlike(head, last.rows[0]);
      for (const row of isRepeated ? block.rows.slice(1) : block.rows) last.rows.push(row);
      last.page = page;
    } else tables.push({ ...(block.caption !== undefined && { caption: block.caption }), rows: [...block.rows], page });
    isOpen = true;
  }
  return tables;
}

const isAlike = (row: readonly Cell[], other: readonly Cell[]): boolean => row.every(({ text }, at) => text === other[at]?.text);

/** It may as well be data where it has a number. */
const isHead = (row: readonly Cell[]): boolean => row.some(({ text }) => /\p{L}/u.test(text)) && !row.some(({ text }) => /\d/.test(text));

/** A cell over several rows and columns has its text in the first of them, as merged cells of sheets have. @throws FileRefused for one that is too large */
export function gridOf({ rows }: FoundTable): (readonly string[])[] {
  const grid: string[][] = rows.map(() => []);
  /** By column: the first row that is free again. */
  const free: number[] = [];
  let width = 0;
  for (const [at, row] of rows.entries()) {
    let column = 0;
    for (const { text, row_span: down = 1, column_span: across = 1 } of row) {
      while ((free[column] ?? 0) > at) column++;
      if (column + across > MOST_COLUMNS) throw beyond('columns of a table', MOST_COLUMNS, column + across);
      for (let each = column; each < column + across; each++) free[each] = at + down;
      const line = grid[at] ?? [];
      line[column] = text;
      column += across;
    }
    width = Math.max(width, column);
    boundCells(at + 1, width);
  }
  const places = Array.from({ length: width }, (_, column) => column);
  return grid.map((line) => places.map((column) => line[column] ?? ''));
}
