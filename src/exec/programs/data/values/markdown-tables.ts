/** Rows as tables of Markdown, in the form that GitHub has given them (GitHub Flavored Markdown 0.29, 4.10). */

import { boundCells } from './value.ts';

export interface Sheet {
  readonly name: string;
  readonly rows: readonly (readonly string[])[];
}

/** As people and programs write numbers, amounts and shares. */
const AMOUNT = /^[-+]?[\d., '\u00a0]*[%€$£]?$/;
const isAmount = (cell: string): boolean => AMOUNT.test(cell) && /\d/.test(cell);
/** Characters that would be markup: those that always are, and those that are at the edge of a word. */
const MARKUP = /[\\|`*<[]|(?<![\p{L}\p{N}])[_~]|[_~](?![\p{L}\p{N}])/gu;
const LINE_BREAKS = /\r\n?|\n/g;

/** A table for each sheet; where there are several, below its name. Its first row is the head, since the form has no table without one. */
export function tablesOf(sheets: readonly Sheet[]): string {
  const filled = sheets.map(({ name, rows }) => ({ name, rows: trimmed(rows) })).filter(({ rows }) => rows.length > 0);
  return filled.map(({ name, rows }) => (sheets.length > 1 ? `## ${cellOf(name)}\n\n${tableOf(rows)}` : tableOf(rows))).join('\n');
}

function tableOf([head = [], ...body]: readonly (readonly string[])[]): string {
  const isNumeric = (at: number) => body.some((row) => row[at] !== '') && body.every((row) => row[at] === '' || isAmount(row[at] ?? ''));
  const rule = head.map((_, at) => (isNumeric(at) ? '---:' : '---'));
  return [head.map(cellOf), rule, ...body.map((row) => row.map(cellOf))].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

/** Without the empty columns behind the last that has something, each row as long as the others. */
function trimmed(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const width = rows.reduce((most, row) => Math.max(most, row.findLastIndex((cell) => cell.trim() !== '') + 1), 0);
  boundCells(rows.length, width);
  return width === 0 ? [] : rows.map((row) => Array.from({ length: width }, (_, at) => row[at]?.trim() ?? ''));
}

const cellOf = (text: string): string => text.replaceAll(MARKUP, '\\$&').replaceAll(LINE_BREAKS, '<br>');
