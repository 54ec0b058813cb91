/** Calls of our program that makes a document of JSON, `exec/programs/documents/model.ts`. */
import type { Binary, ProcessStep, Task } from '../../engine.ts';
import type { OptionName } from '../../options/options.ts';
import { ownStep } from '../told.ts';

export const MODEL: Binary = { at: ['program:documents/model.ts'] };

export const MODEL_OPTIONS: readonly OptionName[] = ['chunks', 'chunk_overlap'];

/** What blocks of text have no room for. */
export const MODEL_LOSES = ['pictures', 'layout', 'bold and italic type'] as const;

/** Needs the binary `model`. @param found words as Poppler and Tesseract list them, or Pandoc's tree @param about a document that has its title, author and language in its package */
export function documentStep(found: string, { source, output, options }: Task, about?: string): ProcessStep {
  const { chunks, chunk_overlap: overlap } = options;
  const args = [
    `--from=${source}`,
    ...(chunks === undefined ? [] : [`--chunks=${chunks}`, `--overlap=${overlap ?? 0}`]),
    ...(about === undefined ? [] : [`--about=${about}`]),
  ];
  return ownStep('model', [...args, found, `${output}/document.json`]);
}

/** The text layer of a PDF. Needs the binaries `pdftotext` and `model`. */
export function printedModel(path: string, task: Task): readonly ProcessStep[] {
  const words = `${task.scratch}/words.tsv`;
  return [{ run: 'pdftotext', args: ['-tsv', path, words] }, documentStep(words, task)];
}
