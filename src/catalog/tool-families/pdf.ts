/** What the tools for PDF have in common: how qpdf is called, and how a file is looked at. */
import type { ProcessStep } from '../engine.ts';
import { text } from '../options/fields.ts';
import { countPages } from '../planning/pdf.ts';
import { ONE_FILE, type Tool, type ToolSource, type ToolTask } from '../tool.ts';

/** What every tool has that makes a PDF of one PDF. */
export const PDF_TO_PDF = { family: 'pdf', accepts: ['pdf'], files: ONE_FILE } as const satisfies Partial<Tool>;

/** AES-256 takes no more bytes (ISO 32000-2, 7.6.4.3.4); converters read the first line of a file. */
export const password = text
  .refine((value) => value !== '' && Buffer.byteLength(value) <= 127 && !/[\r\n\0]/.test(value))
  .describe('1 to 127 bytes of UTF-8 in one line');

/** 3: warnings about damage that was mended (qpdf manual, "Exit Status"). */
export const qpdf = (...args: readonly string[]): ProcessStep => ({ run: 'qpdf', args, succeeds: [0, 3] });

/** Looks at the file as everybody can who has no password: it is refused where one is needed. */
export const inspectOpen = {
  ...countPages,
  step: (input: string, { source, options }: { source: string; options: object }) =>
    countPages.step(input, { source, options, passwordFile: undefined }),
};

/** @throws where there is none, which the tool's own bounds exclude */
export function onlySource({ sources: [source] }: Pick<ToolTask, 'sources'>): ToolSource {
  if (source === undefined) throw new Error('a tool without a source');
  return source;
}
