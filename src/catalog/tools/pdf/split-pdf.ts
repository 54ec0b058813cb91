/** A PDF for each page of a PDF, in a ZIP. */
import { z } from 'zod';
import { engine } from '../../engines/pdf/qpdf.ts';
import { prune } from '../../planning/documents/pdf.ts';
import type { Tool, ToolTask } from '../../tool.ts';
import { onlySource, PDF_TO_PDF, password, qpdfDecrypting } from '../../tool-families/pdf.ts';

export const tool: Tool = {
  ...PDF_TO_PDF,
  slug: 'split-pdf',
  summary: 'Splits a PDF into its pages: a ZIP of one PDF each.',
  search: {
    en: 'extract pages, separate, single pages, divide',
    de: 'Seiten extrahieren, trennen, aufteilen, einzelne Seiten',
    es: 'extraer páginas, separar, dividir, páginas sueltas',
  },
  input: z.object({ password: password.optional() }),
  example: { password: 'the one that opens it' },
  opensEncrypted: true,
  alwaysZip: true,
  work: { target: () => 'pdf', methods: [{ engine, plan }] },
};

function plan(task: ToolTask) {
  const { path } = onlySource(task);
  const { step, applied } = prune(task, path, 'each');
  return { steps: [step, qpdfDecrypting(task, path, ...applied, '--split-pages', `${task.output}/page-%d.pdf`)] };
}
