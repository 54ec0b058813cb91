/** Values separated by a character, with the quoting of RFC 4180. */
import papa from 'papaparse';
import { recordsOf, rowsOf } from './records.ts';
import { asWritten, type Syntax } from './syntax.ts';

/** As they stand there, without the empty ones. */
export function rowsIn(
  text: string,
  separator: string,
): { readonly rows: readonly (readonly string[])[]; readonly warnings: readonly string[] } {
  const { data, errors } = papa.parse<string[]>(text, {
    delimiter: separator,
    delimitersToGuess: [',', ';', '\t', '|'],
    skipEmptyLines: 'greedy',
  });
  const isQuotedWrongly = errors.some(({ type }) => type === 'Quotes');
  return { rows: data, warnings: isQuotedWrongly ? ['A quotation mark in the table has no end, or text behind it.'] : [] };
}

/** @param separator between values; of a text that is read, `''`: the one that splits its rows alike */
const separated = (separator: string, between: string): Syntax => ({
  read: (text, types) => {
    const { rows, warnings } = rowsIn(text, separator);
    return { value: recordsOf(rows, types), warnings };
  },
  write: (value) => {
    const { names, rows, nested } = rowsOf(value);
    const fields = [...names];
    const text =
      names.length === 0 ? '' : papa.unparse({ fields, data: rows.map((row) => [...row]) }, { delimiter: between, newline: '\n' });
    return nested ? asWritten(text, 'The data is nested: each column is named by the path to its value.') : asWritten(text);
  },
});

export const csv = separated('', ',');
export const tsv = separated('\t', '\t');
