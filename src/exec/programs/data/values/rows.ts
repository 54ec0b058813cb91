/** Values separated by a character, with the quoting of RFC 4180. */
import papa from 'papaparse';
import { recordsOf, rowsOf, typedRecordsOf } from './records.ts';
import { asWritten, type Syntax } from './syntax.ts';
import type { Scalar } from './value.ts';

/** As they stand there. @param empty whether empty rows stay, so that each is at its number */
export function rowsIn(
  text: string,
  separator: string,
  empty = false,
): { readonly rows: readonly (readonly string[])[]; readonly warnings: readonly string[] } {
  const { data, errors } = papa.parse<string[]>(text, {
    delimiter: separator,
    delimitersToGuess: [',', ';', '\t', '|'],
    skipEmptyLines: empty ? false : 'greedy',
  });
  const wrong = errors.find(({ type }) => type === 'Quotes');
  if (wrong === undefined) return { rows: data, warnings: [] };
  return {
    rows: data,
    warnings: [`A quotation mark in line ${lineAt(text, wrong.index ?? 0)} of the table has no end, or text behind it.`],
  };
}

/** @returns the number of the line that a character stands in, from 1 on */
function lineAt(text: string, index: number): number {
  const beginning = text.slice(0, index);
  const count = beginning.split('\n').length;
  // Texts of old Macs.
  return count > 1 ? count : beginning.split('\r').length;
}

/** As text, each row a line. */
export const separatedText = (rows: readonly (readonly string[])[], separator: string): string =>
  papa.unparse(
    rows.map((row) => [...row]),
    { delimiter: separator, newline: '\n' },
  );

/** @param separator between values; of a text that is read, `''`: the one that splits its rows alike */
const separated = (separator: string, between: string): Syntax => ({
  read: (text, types) => {
    const { rows, warnings } = rowsIn(text, separator);
    return { ...recordsOf(rows, types), warnings };
  },
  write: (value, head) => {
    const { names, rows, ...told } = rowsOf(value, head);
    const data = rows.map((row) => row.map((each) => (each === null ? '' : String(each))));
    const text = names.length === 0 ? '' : papa.unparse({ fields: [...names], data }, { delimiter: between, newline: '\n' });
    return asWritten(text, ...leftOut(told));
  },
});

/** Cells with their types: a list a line. */
export const cells: Pick<Syntax, 'read'> = {
  read: (text) => {
    const rows = text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as readonly Scalar[])
      .filter((row) => row.some((cell) => cell !== null));
    return { ...typedRecordsOf(rows), warnings: [] };
  },
};

export const csv = separated('', ',');
export const tsv = separated('\t', '\t');

/** What rows say of the data that they were made of: that it was nested, and what has no place in them. */
export const leftOut = ({ nested, beside }: { readonly nested: boolean; readonly beside: readonly string[] }): readonly string[] => [
  ...(nested ? ['The data is nested: each column is named by the path to its value.'] : []),
  ...(beside.length === 0 ? [] : [`The rows are those of the only list. The values beside it are left out: ${named(beside)}.`]),
];

const MOST_NAMED = 8;
const named = (keys: readonly string[]): string =>
  [
    ...keys.slice(0, MOST_NAMED).map((key) => key.slice(0, 60)),
    ...(keys.length > MOST_NAMED ? [`${keys.length - MOST_NAMED} more`] : []),
  ].join(', ');
