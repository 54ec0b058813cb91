/** A PDF for each page of a PDF, in a ZIP. */
import { z } from 'zod';
import { engine } from '../engines/qpdf.ts';
import type { Tool } from '../tool.ts';
import { onlySource, PDF_TO_PDF, qpdf } from '../tool-families/pdf.ts';

export const tool: Tool = {
  ...PDF_TO_PDF,
  slug: 'split-pdf',
  summary: 'Splits a PDF into its pages: a ZIP of one PDF each.',
  input: z.object({}),
  alwaysZip: true,
  work: {
    engine,
    target: () => 'pdf',
    plan: (task) => ({ steps: [qpdf('--decrypt', onlySource(task).path, '--split-pages', `${task.output}/page-%d.pdf`)] }),
  },
};
