/** The cells of OpenDocument tables that others cover. */

interface Table {
  /** Rows that each column is still covered for, the current one included. */
  readonly covered: number[];
  column: number;
  /** Columns that the open cell covers beside its own. */
  beside: number;
}

const TAG = /<[^<>]*>/g;
const NAME = /^<\/?(table:table|table:table-row|table:table-cell)[\s/>]/;
const COVERED = '<table:covered-table-cell/>';
/** HTML allows no more. */
const MOST_COLUMNS = 1000;
const MOST_ROWS = 65_534;

/** @param content of a document whose tables have none */
export function withCoveredCells(content: string): string {
  const pieces: string[] = [];
  const tables: Table[] = [];
  let done = 0;
  for (const { 0: tag, index } of content.matchAll(TAG)) {
    const name = NAME.exec(tag)?.[1];
    if (name === undefined) continue;
    const table = tables.at(-1);
    const [isEnd, isEmpty] = [tag.startsWith('</'), tag.endsWith('/>')];
    pieces.push(content.slice(done, index));
    done = index + tag.length;
    if (name === 'table:table') {
      if (isEnd) tables.pop();
      else if (!isEmpty) tables.push({ covered: [], column: 0, beside: 0 });
      pieces.push(tag);
    } else if (table === undefined) pieces.push(tag);
    else if (name === 'table:table-row') {
      if (isEnd) pieces.push(COVERED.repeat(passed(table)));
      table.column = 0;
      pieces.push(tag);
    } else {
      if (!isEnd) {
        pieces.push(COVERED.repeat(passed(table)));
        begin(table, tag);
      }
      pieces.push(tag);
      if (isEnd || isEmpty) pieces.push(COVERED.repeat(table.beside));
    }
  }
  return [...pieces, content.slice(done)].join('');
}

/** @returns how many cells from the current column on are covered from above */
function passed(table: Table): number {
  let count = 0;
  while ((table.covered[table.column] ?? 0) > 0) {
    table.covered[table.column] = (table.covered[table.column] ?? 1) - 1;
    table.column++;
    count++;
  }
  return count;
}

function begin(table: Table, tag: string): void {
  const columns = spanned(tag, 'columns', MOST_COLUMNS);
  const rows = spanned(tag, 'rows', MOST_ROWS);
  for (let at = 0; at < columns; at++) table.covered[table.column + at] = rows - 1;
  table.column += columns;
  table.beside = columns - 1;
}

function spanned(tag: string, what: string, most: number): number {
  const start = tag.indexOf(`number-${what}-spanned="`);
  if (start < 0) return 1;
  const count = Number.parseInt(tag.slice(tag.indexOf('"', start) + 1), 10);
  return count > 0 ? Math.min(most, count) : 1;
}
