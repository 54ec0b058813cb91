/** Rows as tables of Markdown, in the form that GitHub has given them (GitHub Flavored Markdown 0.29, 4.10). */

import { boundCells } from './value.ts';

export interface Sheet {
  readonly name: string;
  readonly rows: readonly (readonly string[])[];
  readonly marks?: Marks;
}

/** What cells have beside their text, each with the numbers of its row and column, from 0 on. */
export interface Marks {
  readonly links: readonly (readonly [row: number, column: number, text: string, address: string])[];
  readonly notes: readonly (readonly [row: number, column: number, text: string])[];
  /** Whether the sheet may have more of them. */
  readonly more?: boolean;
}

/** As people and programs write numbers, amounts and shares. */
const AMOUNT = /^[-+]?[\d., '\u00a0]*[%€$£]?$/;
const isAmount = (cell: string): boolean => AMOUNT.test(cell) && /\d/.test(cell);
/** Characters that would be markup: those that always are, and those that are at the edge of a word. */
const MARKUP = /[\\|`*<[]|(?<![\p{L}\p{N}])[_~]|[_~](?![\p{L}\p{N}])/gu;
const LINE_BREAKS = /\r\n?|\n/g;

/**
 * A table for each sheet; where there are several, below its name. Its first row is the head, since the form has no table without one. Notes of cells are
 * footnotes below their table (GitHub Docs, "Basic writing and formatting syntax").
 */
export function tablesOf(sheets: readonly Sheet[]): string {
  let noted = 0;
  const filled = sheets.map((sheet) => ({ ...sheet, rows: trimmed(sheet.rows) })).filter(({ rows }) => rows.some(isFilled));
  return filled
    .map(({ name, rows, marks = NO_MARKS }) => {
      const table = tableOf(rows, marks, noted);
      noted += marks.notes.length;
      return sheets.length > 1 ? `## ${cellOf(name)}\n\n${table}` : table;
    })
    .join('\n');
}

const NO_MARKS: Marks = { links: [], notes: [] };
const isFilled = (row: readonly string[]): boolean => row.some((cell) => cell !== '');

/** @param noted how many notes stand above */
function tableOf(rows: readonly (readonly string[])[], { links, notes }: Marks, noted: number): string {
  const cells = rows.map((row) => row.map(cellOf));
  // Links of a cell come in their order: each is behind the one before it.
  const ends = new Map<string, number>();
  for (const [row, column, text, address] of links) {
    const [cell, words, place] = [cells[row]?.[column], cellOf(text.trim()), `${row} ${column}`];
    const at = cell === undefined || words === '' ? -1 : cell.indexOf(words, ends.get(place));
    if (cell === undefined || at < 0) continue;
    const link = ADDRESS.test(address) ? `[${words.replaceAll(']', '\\]')}](${addressOf(address)})` : words;
    (cells[row] as string[])[column] = `${cell.slice(0, at)}${link}${cell.slice(at + words.length)}`;
    ends.set(place, at + link.length);
  }
  for (const [at, [row, column]] of notes.entries())
    if (cells[row]?.[column] !== undefined) (cells[row] as string[])[column] += `[^${noted + at + 1}]`;
  const filled = [...rows.keys()].filter((at) => isFilled(cells[at] ?? []));
  const [head = 0, ...body] = filled;
  const isNumeric = (at: number) => {
    const column = body.map((row) => rows[row]?.[at] ?? '');
    return column.some((cell) => cell !== '') && column.every((cell) => cell === '' || isAmount(cell));
  };
  const rule = (rows[head] ?? []).map((_, at) => (isNumeric(at) ? '---:' : '---'));
  const table = [cells[head] ?? [], rule, ...body.map((row) => cells[row] ?? [])].map((row) => `| ${row.join(' | ')} |\n`).join('');
  const shown = notes.map(([, , text], at) => `[^${noted + at + 1}]: ${cellOf(text.trim())}\n`);
  return shown.length === 0 ? table : `${table}\n${shown.join('')}`;
}

const ADDRESS = /^(?:https?|mailto|ftp|tel):/i;
/** What would end it, or the cell. */
const addressOf = (address: string): string =>
  address.replace(/[\s|()<>\\]/g, (letter) => `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** Without the empty columns behind the last that has something, each row as long as the others. */
function trimmed(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const width = rows.reduce((most, row) => Math.max(most, row.findLastIndex((cell) => cell.trim() !== '') + 1), 0);
  boundCells(rows.length, width);
  return width === 0 ? [] : rows.map((row) => Array.from({ length: width }, (_, at) => row[at]?.trim() ?? ''));
}

const cellOf = (text: string): string => text.replaceAll(MARKUP, '\\$&').replaceAll(LINE_BREAKS, '<br>');
