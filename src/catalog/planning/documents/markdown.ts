/** Calls of our program that makes Markdown of words and their places, `exec/programs/pdf/markdown.ts`. */
import type { Binary, ProcessStep, Task } from '../../engine.ts';
import { ownStep } from '../told.ts';

export const MARKDOWN: Binary = { at: ['program:pdf/markdown.ts'] };

/** What the places of words do not tell. */
export const MARKDOWN_LOSES = ['pictures', 'links', 'bold and italic type', 'headings that are no larger than the text'] as const;

/** Needs the binary `markdown`. @param words as Poppler and Tesseract list them */
export const markdownStep = (words: string, output: string) => ownStep('markdown', [words, `${output}/document.md`]);

/** The text layer of a PDF. Needs the binaries `pdftotext` and `markdown`. */
export function printedMarkdown(path: string, { scratch, output }: Pick<Task, 'scratch' | 'output'>): readonly ProcessStep[] {
  const words = `${scratch}/words.tsv`;
  return [{ run: 'pdftotext', args: ['-tsv', path, words] }, markdownStep(words, output)];
}
