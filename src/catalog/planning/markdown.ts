/** Calls of our program that makes Markdown of words and their places, `exec/programs/markdown.ts`. */
import type { Binary } from '../engine.ts';
import { ownStep } from './told.ts';

export const MARKDOWN: Binary = { at: ['program:markdown.ts'] };

/** What the places of words do not tell. */
export const MARKDOWN_LOSES = ['pictures', 'links', 'bold and italic type', 'headings that are no larger than the text'] as const;

/** Needs the binary `markdown`. @param words as Poppler and Tesseract list them */
export const markdownStep = (words: string, output: string) => ownStep('markdown', [words, `${output}/document.md`]);
