/**
 * One table of a document as CSV or TSV.
 *
 *   tables.ts [--table=WHICH] FOUND OUTPUT.csv
 *
 * FOUND is a list of words and their places if its name ends in .tsv, and Pandoc's tree otherwise. WHICH is a number from 1 on, or a caption; without it,
 * the first table is taken. Prints an answer as residents give.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { separatedText } from '../data/values/rows.ts';
import { FileRefused } from '../data/values/value.ts';
import { linesIn, pagesIn } from '../pdf/layout/words.ts';
import { answering, type Told } from '../process/answer.ts';
import { type FoundTable, gridOf, tablesIn } from './model/grid.ts';
import { tableBlocks } from './model/markup.ts';
import { printedBlocks } from './model/printed.ts';
import type { Tree } from './pandoc-tree/tree.ts';

const VERSION = '1.0';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { version: { type: 'boolean' }, table: { type: 'string' } },
});
const [found = '', output = ''] = positionals;

if (values.version === true) process.stdout.write(`tables ${VERSION}\n`);
else
  await answering(() => {
    const list = readFileSync(found, 'utf8');
    const tables = tablesIn(found.endsWith('.tsv') ? printedBlocks(linesIn(list), pagesIn(list)) : tableBlocks(JSON.parse(list) as Tree));
    const { table, told } = chosen(tables, values.table);
    writeFileSync(output, `${separatedText(gridOf(table), output.endsWith('.tsv') ? '\t' : ',')}\n`);
    return told;
  });

/** @throws FileRefused where there is no such table */
function chosen(tables: readonly FoundTable[], which: string | undefined): { readonly table: FoundTable; readonly told: readonly Told[] } {
  const [first] = tables;
  if (first === undefined) throw new FileRefused('unsupported_variant', 'The document has no table.');
  const count = tables.length;
  if (which === undefined) {
    const message = `The document has ${count} tables, and the first of them is in the result: worksheet chooses another, by its number or its caption.`;
    return { table: first, told: count === 1 ? [] : [{ code: 'tables_left_out', message }] };
  }
  const table = tables.find(({ caption }) => caption === which) ?? (/^[1-9]\d{0,5}$/.test(which) ? tables[Number(which) - 1] : undefined);
  if (table === undefined) {
    const says = `The document has ${count === 1 ? 'one table' : `${count} tables`}, and none of this number or caption.`;
    const received = which.replaceAll(/[^\x20-\x7e]/g, '?');
    throw new FileRefused('invalid_option', says, undefined, {
      option: 'worksheet',
      received,
      allowed: `1 to ${count}, or a caption`,
      says,
    });
  }
  return { table, told: [] };
}
