/** Calls of our program for data, `exec/programs/data/values.ts`. */
import type { Reason } from '../../errors.ts';
import type { Binary, ProcessStep, Task } from '../engine.ts';
import { charsetOf } from './documents/text.ts';
import { reasonOfText } from './told.ts';

export const VALUES: Binary = { at: ['program:data/values.ts'], version: { args: ['--version'], pattern: /^values (\d+\.\d+)/ } };

type TableTask = Pick<Task, 'source' | 'target' | 'options'>;

/** A call of one of our programs for tables, which take the same arguments. */
export const tableStep =
  (run: 'values' | 'columns') =>
  ({ source, target, options }: TableTask, input: string, output: string): ProcessStep => ({
    run,
    args: [input, source, output, target, options.csv_types ?? 'as_written', ...charsetOf(options)],
    answers: true,
  });

/** Needs the binary `values`. @param input of the task's source, or a folder of CSV files, each named after its sheet */
export const valuesStep = tableStep('values');

export const explainValues = (output: string, code: number | null): Reason | undefined =>
  reasonOfText(output, code) ??
  (/heap out of memory|Array buffer allocation failed|Invalid string length/.test(output) ? 'memory' : undefined);
