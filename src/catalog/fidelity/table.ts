/** What a table has that its result should have too, and which formats can contain it. */
import type { Options } from '../options/options.ts';
import type { TableFacts } from '../planning/contents/documents/facts.ts';
import { among, counted } from './counted.ts';
import { somePages } from './document.ts';
import type { FidelityProperty } from './fidelity.ts';

type TableProperty = FidelityProperty<TableFacts, Options>;

const SHEETS = 'xlsx xls ods fods';
const number = (name: string, count: (facts: TableFacts) => number | undefined, formats = SHEETS): TableProperty =>
  counted({ name, count, fits: among(formats), asked: somePages });

export const tableProperties: readonly TableProperty[] = [
  number('sheets', ({ sheets }) => sheets),
  number('hidden_sheets', ({ hiddenSheets }) => hiddenSheets),
  number('rows', ({ rows }) => rows, `csv tsv ${SHEETS}`),
  number('columns', ({ columns }) => columns, `csv tsv ${SHEETS}`),
  number('numbers', ({ numbers }) => numbers),
  number('dates', ({ dates }) => dates),
  number('true_false', ({ truths }) => truths),
  number('formulas', ({ formulas }) => formulas),
  number('merged_cells', ({ mergedCells }) => mergedCells),
  number('cell_notes', ({ cellNotes }) => cellNotes),
  number('cell_links', ({ cellLinks }) => cellLinks),
];

/** What of it a page or a text does not show. */
export const printedProperties: readonly TableProperty[] = tableProperties.filter(({ name }) =>
  ['hidden_sheets', 'formulas', 'cell_notes'].includes(name),
);

/** Has all that a table may have. */
export const RICH_TABLE: TableFacts = {
  ...{ sheets: 2, hiddenSheets: 1, rows: 3, columns: 3, numbers: 1, dates: 1, truths: 1, formulas: 1, mergedCells: 1, cellNotes: 1 },
  cellLinks: 1,
};
