/** Finds tables by the places of words: rows below one another whose pieces stand in the same columns. */

import { type Box, boxAround, type Word } from './boxes.ts';
import { isMark } from './marks.ts';
import { inRows, type Line, spaced, usualSize } from './words.ts';

export interface PlacedTable {
  /** The cells of each row. */
  readonly rows: readonly (readonly string[])[];
  readonly page: number;
  readonly box: Box;
  /** It was recognised in a picture. */
  readonly isSeen: boolean;
}

/** Words of a line without a wide gap between them. */
interface Piece extends Box {
  readonly words: readonly Word[];
}
type Row = readonly Piece[];

/** In heights of the letters: a wider gap parts two cells, a higher one two tables. */
const [GAP, FAR] = [0.7, 2.5];
/** Columns of prose have more words in a line, or fill their width. */
const [MOST_WORDS, FEW_WORDS, FULL] = [6, 2.5, 0.8];
const MOST_COLUMNS = 64;

/** @param lines of one page @returns the table of each word that is in one */
export function tablesOn(lines: readonly Line[]): ReadonlyMap<Word, PlacedTable> {
  const found = new Map<Word, PlacedTable>();
  const rows = inRows(lines.flatMap(piecesOf));
  for (let at = 0; at < rows.length; ) {
    const run = runFrom(rows, at);
    const table = tableOf(run, lines[0]?.page ?? 0, lines[0]?.isSeen ?? false);
    if (table !== undefined) for (const word of run.flat().flatMap(({ words }) => words)) found.set(word, table);
    at += Math.max(1, run.length);
  }
  return found;
}

function piecesOf(line: Line): readonly Piece[] {
  const gap = GAP * usualSize(line);
  const pieces: Word[][] = [];
  for (const word of line.words) {
    const last = pieces.at(-1)?.at(-1);
    const isMarked = pieces.length === 1 && pieces[0]?.length === 1 && isMark(last?.text ?? '');
    if (last === undefined || (!isMarked && word.left - last.right > gap)) pieces.push([word]);
    else pieces.at(-1)?.push(word);
  }
  return pieces.map((each) => ({ ...boxAround(each), words: each }));
}

/** Rows of several pieces, near one another. A single piece close below a row goes on in one of its cells. */
function runFrom(rows: readonly Row[], start: number): readonly Row[] {
  let end = start;
  for (; end < rows.length; end++) {
    const [row = [], before] = [rows[end], rows[end - 1]];
    const gap = end === start || before === undefined ? 0 : boxAround(row).top - boxAround(before).bottom;
    const height = row[0] === undefined ? 0 : row[0].bottom - row[0].top;
    if (row.length < 2 && (end === start || gap > 0.3 * height || (row[0]?.left ?? 0) <= (rows[start]?.[0]?.right ?? 0))) break;
    if (gap > FAR * height) break;
  }
  return rows.slice(start, end);
}

function tableOf(run: readonly Row[], page: number, isSeen: boolean): PlacedTable | undefined {
  const several = run.filter((row) => row.length > 1);
  if (several.length < 2) return undefined;
  const columns = columnsOf(several);
  if (columns.length < 2 || columns.length > MOST_COLUMNS) return undefined;
  const places = run.map((row) => row.map((piece) => columnOf(columns, piece)));
  const alone = places.filter((row) => new Set(row).size === row.length).length;
  if (alone < run.length || isProse(several.flat(), columns)) return undefined;
  const rows: string[][][] = [];
  for (const [at, row] of run.entries()) {
    if (row.length > 1 || rows.length === 0) rows.push(columns.map(() => []));
    for (const [place, { words }] of row.entries()) rows.at(-1)?.[places[at]?.[place] ?? 0]?.push(spaced(words));
  }
  return { rows: rows.map((cells) => cells.map((parts) => parts.join(' ').trim())), page, box: boxAround(run.flat()), isSeen };
}

/** What the pieces of most rows have in common; a heading over several columns has fewer pieces. */
function columnsOf(rows: readonly Row[]): readonly Box[] {
  const counts = rows.map(({ length }) => length).toSorted((one, other) => one - other);
  const usual = counts[counts.length >> 1] ?? 2;
  const pieces = rows.filter(({ length }) => length >= usual).flat();
  const columns: Box[] = [];
  for (const piece of pieces.toSorted((one, other) => one.left - other.left)) {
    const last = columns.at(-1);
    if (last !== undefined && piece.left < last.right) columns[columns.length - 1] = boxAround([last, piece]);
    else columns.push(piece);
  }
  return columns;
}

/** The column with which it has most in common, or the nearest one. */
function columnOf(columns: readonly Box[], { left, right }: Box): number {
  const common = columns.map((column) => Math.min(right, column.right) - Math.max(left, column.left));
  return common.indexOf(Math.max(...common));
}

function isProse(pieces: readonly Piece[], columns: readonly Box[]): boolean {
  const words = pieces.reduce((sum, piece) => sum + piece.words.length, 0) / pieces.length;
  const fill = (piece: Piece) => {
    const column = columns[columnOf(columns, piece)];
    return column === undefined ? 1 : (piece.right - piece.left) / (column.right - column.left);
  };
  const full = pieces.reduce((sum, piece) => sum + fill(piece), 0) / pieces.length;
  return words > MOST_WORDS || (words > FEW_WORDS && full > FULL);
}
