/** Texts in any encoding, for engines that read UTF-8. */
import type { Binary, ProcessStep } from '../engine.ts';

export const UTF8: Binary = { at: ['program:utf8.ts'] };

/** Needs the binary `utf8`. */
export const toUtf8 = (input: string, output: string, source: string): ProcessStep => ({
  run: 'utf8',
  args: [input, output, source],
  answers: true,
});
