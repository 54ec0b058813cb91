/** What the PDF tools have in common: calls of qpdf, and the inspection. */
import { z } from 'zod';
import type { ProcessStep } from '../engine.ts';
import { textField } from '../options/fields.ts';
import { pageRanges } from '../options/pages.ts';
import { countPages } from '../planning/documents/pdf.ts';
import { ONE_FILE, type Tool, type ToolSource, type ToolTask } from '../tool.ts';

/** Fields of every tool that converts one PDF to a PDF. */
export const PDF_TO_PDF = { family: 'pdf', accepts: ['pdf'], files: ONE_FILE } as const satisfies Partial<Tool>;

/** AES-256 uses at most 127 bytes (ISO 32000-2, 7.6.4.3.4); converters read the first line of a file. */
export const password = textField
  .refine((value) => value !== '' && Buffer.byteLength(value) <= 127 && !/[\r\n\0]/.test(value))
  .describe('1 to 127 bytes of UTF-8 in one line');

/** Characters: more than any order of 1,600 pages has. */
const LONGEST = 8_000;
export const pageOrder = textField
  .max(LONGEST)
  .transform((given) => pageRanges(given))
  .pipe(z.array(z.tuple([z.number().int(), z.number().int()])).min(1))
  .describe('existing pages in the order of the result, as in 3,1,5-8; at most 8000 characters');

/** 3: warnings about damage that was repaired (qpdf manual, "Exit Status"). */
export const qpdf = (...args: readonly string[]): ProcessStep => ({ run: 'qpdf', args, succeeds: [0, 3] });

/** A call that reads the source: with the password that was sent, and without encryption in the result. */
export const qpdfDecrypting = ({ passwordFile }: Pick<ToolTask, 'passwordFile'>, ...args: readonly string[]): ProcessStep =>
  qpdf(...(passwordFile === undefined ? [] : [`--password-file=${passwordFile}`]), '--decrypt', ...args);

/** Inspects the file without a password: files that need one are refused. */
export const inspectOpen = {
  ...countPages,
  step: (input: string, { source, target, options }: { source: string; target: string; options: object }) =>
    countPages.step(input, { source, target, options, passwordFile: undefined }),
};

/** @throws an Error if there is none, which the tool's `files` exclude */
export function onlySource({ sources: [source] }: Pick<ToolTask, 'sources'>): ToolSource {
  if (source === undefined) throw new Error('a tool without a source');
  return source;
}
