/** Calls of our program for data, `exec/programs/data/values.ts`. */
import type { Reason } from '../../errors.ts';
import type { Binary, ProcessStep, Task } from '../engine.ts';
import { charsetOf } from './documents/text.ts';
import { reasonOfText } from './told.ts';

export const VALUES: Binary = { at: ['program:data/values.ts'], version: { args: ['--version'], pattern: /^values (\d+\.\d+)/ } };

/** Needs the binary `values`. @param input of the task's source, or a folder of CSV files, each named after its sheet */
export const valuesStep = (
  { source, target, options }: Pick<Task, 'source' | 'target' | 'options'>,
  input: string,
  output: string,
): ProcessStep => ({
  run: 'values',
  args: [input, source, output, target, options.csv_types ?? 'as_written', ...charsetOf(options)],
  answers: true,
});

export const explainValues = (output: string, code: number | null): Reason | undefined =>
  reasonOfText(output, code) ??
  (/heap out of memory|Array buffer allocation failed|Invalid string length/.test(output) ? 'memory' : undefined);
