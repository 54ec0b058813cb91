/** Calls of our program that takes a table out of a document, `exec/programs/documents/tables.ts`, and what makes a sheet of it. */
import { type Binary, type Conversion, everyPair, type ProcessStep, type Step, type Task } from '../../../engine.ts';
import type { OptionName } from '../../../options/options.ts';
import { ownStep } from '../../../planning/told.ts';
import { askOffice, OFFICE } from './ask.ts';

export const TABLE_BINARIES: Readonly<Record<string, Binary>> = { ...OFFICE, tables: { at: ['program:documents/tables.ts'] } };

const TEXTS = ['csv', 'tsv'];
/** Not for chains: what the first one of several hops lost would be no table. */
const RANK = 45;

export const tableConversions = (source: string): readonly Conversion[] =>
  everyPair([source], [...TEXTS, 'xlsx', 'ods'], { rank: RANK, loses: ['what stands outside of the table', 'formatting'] });

export const tableOptions = (target: string): readonly OptionName[] => [
  'worksheet',
  ...(TEXTS.includes(target) ? [] : (['csv_types'] as const)),
];

/** Needs the binaries above. @param found words as Poppler lists them, or Pandoc's tree */
export function tableSteps(found: string, task: Task): readonly Step[] {
  const { target, output, scratch, options } = task;
  const isText = TEXTS.includes(target);
  const table = isText ? `${output}/table.${target}` : `${scratch}/between.tsv`;
  const which = options.worksheet === undefined ? [] : [`--table=${options.worksheet}`];
  const step: ProcessStep = ownStep('tables', [...which, found, table]);
  if (isText) return [step];
  const { csv_types } = options;
  // Not CSV, whose separator is guessed: cells may have others that look as regular.
  const asked = { ...task, source: 'tsv', input: table, passwordFile: undefined, options: csv_types === undefined ? {} : { csv_types } };
  return [step, ...askOffice(asked, 'sheet').steps];
}
