/** Texts in any encoding, for engines that read UTF-8. */
import type { Binary, ProcessStep, Task } from '../../engine.ts';

export const UTF8: Binary = { at: ['program:data/utf8.ts'] };

/** Needs the binary `utf8`. */
export const toUtf8 = ({ input, source, options }: Pick<Task, 'input' | 'source' | 'options'>, output: string): ProcessStep => ({
  run: 'utf8',
  args: [input, output, source, ...charsetOf(options)],
  answers: true,
});

/** The last argument of each program that reads a text in any encoding. */
export const charsetOf = ({ charset }: Task['options']): readonly string[] => (charset === undefined ? [] : [charset]);
