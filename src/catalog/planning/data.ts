/** Calls of our program for data, `exec/programs/values.ts`. */
import type { Reason } from '../../errors.ts';
import type { Binary, ProcessStep, Task } from '../engine.ts';

export const VALUES: Binary = { at: ['program:values.ts'], version: { args: ['--version'], pattern: /^values (\d+\.\d+)/ } };

/** The program's status where it has said why. */
const REFUSED = 2;

/** Needs the binary `values`. @param input of the task's source, or a folder of CSV files, each named after its sheet */
export const valuesStep = (
  { source, target, options }: Pick<Task, 'source' | 'target' | 'options'>,
  input: string,
  output: string,
): ProcessStep => ({
  run: 'values',
  args: [input, source, output, target, options.csv_types ?? 'as_written'],
  answers: true,
});

export function explainValues(output: string, code: number | null): Reason | undefined {
  const told = code === REFUSED ? /"reason":"(corrupt_input|unsupported_variant|input_limit)"/.exec(output)?.[1] : undefined;
  if (told !== undefined) return told as Reason;
  return /heap out of memory|Array buffer allocation failed|Invalid string length/.test(output) ? 'memory' : undefined;
}
