/** How LibreOffice is asked: one line of JSON to the program that keeps it warm, and the same line to one of its own. */
import { isReason, type Reason } from '../../../errors.ts';
import type { Binary, Plan, Task } from '../../engine.ts';

/** The module that a document is opened in. */
export type Family = 'text' | 'sheet' | 'slides';

export const OFFICE: Readonly<Record<'office' | 'soffice', Binary>> = {
  office: {
    at: ['program:office.py'],
    version: { args: ['--version'], pattern: /LibreOffice (\d+\.\d+)/ },
    unixSockets: true,
  },
  // Not started by us but by the program above; asked for here so that its absence shows.
  soffice: { at: ['/usr/lib/libreoffice/program/soffice.bin'] },
};

export const LIMITS = { memoryBytes: 2 * 1024 * 1024 * 1024, processes: 128 };

/** Needs the binary `office`. */
export function askOffice(
  { source, target, options, input, output, passwordFile }: Omit<Task, 'facts' | 'scratch'>,
  family: Family | undefined,
): Plan {
  const request = {
    input,
    source,
    output,
    target,
    family,
    passwordFile,
    ...(target === 'pdf' && { pages: options.pages, quality: quality(options.img_quality) }),
  };
  return { steps: [{ ask: 'office', request, otherwise: { run: 'office', args: ['--once'], stdin: `${JSON.stringify(request)}\n` } }] };
}

/** LibreOffice keeps pictures as they are unless told; its scale starts at 1. */
const quality = (given: number | undefined): number | undefined => (given === undefined ? undefined : Math.max(1, given));

/** The program answers in JSON also when it runs once; a Python traceback means that LibreOffice went away under its hands. */
export function explainOffice(words: string): Reason | undefined {
  const reason = /"reason": ?"(\w+)"/.exec(words)?.[1];
  if (isReason(reason)) return reason;
  return words.includes('Traceback') ? 'engine_crashed' : undefined;
}
