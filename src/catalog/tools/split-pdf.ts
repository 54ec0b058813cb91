/** A PDF for each page of a PDF, in a ZIP. */
import { z } from 'zod';
import { engine } from '../engines/qpdf.ts';
import type { Tool } from '../tool.ts';
import { onlySource, PDF_TO_PDF, password, qpdfDecrypting } from '../tool-families/pdf.ts';

export const tool: Tool = {
  ...PDF_TO_PDF,
  slug: 'split-pdf',
  summary: 'Splits a PDF into its pages: a ZIP of one PDF each.',
  input: z.object({ password: password.optional() }),
  opensEncrypted: true,
  alwaysZip: true,
  work: {
    target: () => 'pdf',
    methods: [
      { engine, plan: (task) => ({ steps: [qpdfDecrypting(task, onlySource(task).path, '--split-pages', `${task.output}/page-%d.pdf`)] }) },
    ],
  },
};
