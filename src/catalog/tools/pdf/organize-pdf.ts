/** The pages of a PDF in another order, or some of them. */
import { z } from 'zod';
import { engine } from '../../engines/pdf/qpdf.ts';
import { choosePages, type PageRange } from '../../options/pages.ts';
import { pagesForQpdf, prune } from '../../planning/documents/pdf.ts';
import type { Tool, ToolTask } from '../../tool.ts';
import { onlySource, PDF_TO_PDF, pageOrder, password, qpdfDecrypting } from '../../tool-families/pdf.ts';

export const tool: Tool = {
  ...PDF_TO_PDF,
  slug: 'organize-pdf',
  summary: 'Puts the pages of a PDF in another order, and leaves out those that are not named.',
  search: {
    en: 'reorder, rearrange, move pages, sort, extract pages, keep pages, order',
    de: 'Reihenfolge, umsortieren, Seiten verschieben, sortieren, Seiten extrahieren, Seiten behalten, umordnen',
    es: 'reordenar, mover páginas, ordenar, extraer páginas, conservar páginas, orden',
  },
  widget: 'pages',
  input: z.object({ pages: pageOrder, password: password.optional() }),
  example: { pages: '3,1,5-8' },
  opensEncrypted: true,
  texts: {
    pages: { means: 'The pages of the result, in their order.' },
  },
  work: { target: () => 'pdf', methods: [{ engine, plan }] },
};

function plan(task: ToolTask) {
  const { path, facts } = onlySource(task);
  const { pages: order, warnings } = choosePages(task.input['pages'] as PageRange[], Number(facts['pages']));
  const { step, applied } = prune(task, path, order);
  const select = qpdfDecrypting(task, path, ...applied, '--pages', '.', pagesForQpdf(order), '--', `${task.output}/document.pdf`);
  return { steps: [step, select], warnings };
}
