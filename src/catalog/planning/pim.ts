/** Calls of our program for address cards and calendars, `exec/programs/data/pim.ts`. */
import type { Reason } from '../../errors.ts';
import type { Binary, ProcessStep, Task } from '../engine.ts';
import { charsetOf } from './documents/text.ts';
import { ownStep, reasonTold } from './told.ts';

export const PIM: Binary = { at: ['program:data/pim.ts'], version: { args: ['--version'], pattern: /^pim (\d+\.\d+)/ } };

/** Needs the binary `pim`. */
export const pimStep = (
  { source, target, input, options }: Pick<Task, 'source' | 'target' | 'input' | 'options'>,
  output: string,
): ProcessStep => ownStep('pim', [input, source, output, target, ...charsetOf(options)]);

export const explainPim = (output: string, code: number | null): Reason | undefined =>
  reasonTold(output, code, ['corrupt_input', 'input_limit']) ??
  (/heap out of memory|Invalid string length/.test(output) ? 'memory' : undefined);
