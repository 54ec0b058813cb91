/** Texts in any encoding, for engines that read UTF-8. */
import type { Binary, ProcessStep, Task } from '../../engine.ts';
import { ownStep } from '../told.ts';

export const UTF8: Binary = { at: ['program:data/utf8.ts'] };

/** Needs the binary `utf8`. */
export const toUtf8 = ({ input, source, options }: Pick<Task, 'input' | 'source' | 'options'>, output: string): ProcessStep => ({
  run: 'utf8',
  args: [input, output, source, ...charsetOf(options)],
  answers: true,
});

/** The last argument of each program that reads a text in any encoding. */
export const charsetOf = ({ charset }: Task['options']): readonly string[] => (charset === undefined ? [] : [charset]);

/** Gives a page in HTML a title that has none. */
export const TITLE: Binary = { at: ['program:documents/title.ts'] };

/** Needs the binary `title`. @param page where it lies @param output folder @param source what the page was made of */
export const titleStep = (page: string, output: string, source: string): ProcessStep =>
  ownStep('title', [page, `${output}/document.html`, source]);

/** Writes a page so that Pandoc reads its tables. */
export const CLOSED: Binary = { at: ['program:documents/html.ts'] };

/**
 * Needs the binary `html` and the fact `unreadTables`.
 * @returns where Pandoc finds a page of which it reads all tables: as it was sent, or as the steps write it
 */
export function pageToRead({ input, scratch, facts }: Pick<Task, 'input' | 'scratch' | 'facts'>): {
  readonly steps: readonly ProcessStep[];
  readonly page: string;
} {
  if (facts['unreadTables'] !== true) return { steps: [], page: input };
  const page = `${scratch}/ready.html`;
  return { steps: [ownStep('html', [input, page])], page };
}
