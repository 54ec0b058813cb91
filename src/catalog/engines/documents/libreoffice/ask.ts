/** Requests to LibreOffice: one line of JSON for the resident program, or for a new process of it. */
import { isReason, type Reason } from '../../../../errors.ts';
import type { Binary, Plan, Task } from '../../../engine.ts';

/** The module that a document is opened in. */
export type OfficeModule = 'text' | 'sheet' | 'slides' | 'drawing';

export const OFFICE: Readonly<Record<'office' | 'soffice', Binary>> = {
  office: {
    at: ['program:documents/office.py'],
    version: { args: ['--version'], pattern: /LibreOffice (\d+\.\d+)/, forks: /^it forks$/m },
    // Where LibreOffice cannot be loaded into our own process.
    unixSockets: true,
    resident: true,
    forkServer: true,
  },
  // Started by the program above, not by us; listed so that its absence is detected.
  soffice: { at: ['/usr/lib/libreoffice/program/soffice.bin'] },
};

export const OFFICE_LIMITS = { memoryBytes: 2 * 1024 * 1024 * 1024, processes: 128 };

/** Needs the binary `office`. */
export function askOffice(
  { source, target, options, input, output, passwordFile }: Omit<Task, 'facts' | 'scratch'>,
  family: OfficeModule | undefined,
  /** Fields of the request that no option sets. */
  more: { readonly marks?: true; readonly pageSizes?: readonly (readonly [width: number, height: number])[] } = {},
): Plan {
  const request = {
    input,
    source,
    output,
    target,
    family,
    passwordFile,
    ...more,
    ...(options.csv_types === undefined ? {} : { csvTypes: options.csv_types }),
    ...(options.worksheet === undefined ? {} : { worksheet: options.worksheet }),
    ...(options.tracked_changes === undefined ? {} : { trackedChanges: options.tracked_changes }),
    ...(target === 'pdf' && options.comments !== undefined && { comments: options.comments }),
    ...(target === 'pdf' && { sheetFit: options.sheet_fit, hiddenSlides: options.hidden_slides, notes: options.notes }),
    ...(target === 'pdf' && { pages: options.pages, quality: quality(options.img_quality), pdfa: options.pdfa }),
  };
  return {
    steps: [
      { ask: 'office', input, output, request, otherwise: { run: 'office', args: ['--once'], stdin: `${JSON.stringify(request)}\n` } },
    ],
  };
}

/** Without a quality, LibreOffice keeps pictures as they are; its scale starts at 1. */
const quality = (given: number | undefined): number | undefined => (given === undefined ? undefined : Math.max(1, given));

/** The program answers in JSON also with `--once`; a Python traceback means that LibreOffice crashed. */
export function explainOffice(output: string): Reason | undefined {
  const reason = /"reason": ?"(\w+)"/.exec(output)?.[1];
  if (isReason(reason)) return reason;
  return output.includes('Traceback') ? 'engine_crashed' : undefined;
}
