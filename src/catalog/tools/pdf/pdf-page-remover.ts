/** A PDF without some of its pages. */
import { z } from 'zod';
import { misfit } from '../../../errors.ts';
import { engine } from '../../engines/pdf/qpdf.ts';
import { textField } from '../../options/fields.ts';
import { type PageRange, pageRanges, pagesAsText, pagesFrom1To, pagesOf, selectPages } from '../../options/pages.ts';
import { pagesForQpdf, prune } from '../../planning/documents/pdf.ts';
import type { Tool, ToolTask } from '../../tool.ts';
import { onlySource, PDF_TO_PDF, password, qpdfDecrypting } from '../../tool-families/pdf.ts';

const pages = textField
  .max(500)
  .transform((given) => (/^all$/i.test(given) ? [] : pageRanges(given)))
  .pipe(z.array(z.tuple([z.number().int(), z.number().int()])).min(1))
  .describe('existing pages to remove, as in 1,3,5-8, but not all of them; at most 500 characters');

export const tool: Tool = {
  ...PDF_TO_PDF,
  slug: 'pdf-page-remover',
  summary: 'Removes pages from a PDF.',
  search: {
    en: 'delete pages, take out, blank page, cut',
    de: 'Seiten löschen, Seiten entfernen, leere Seite',
    es: 'eliminar páginas, quitar páginas, página en blanco',
  },
  input: z.object({ pages, password: password.optional() }),
  example: { pages: '1,3,5-8' },
  opensEncrypted: true,
  texts: {
    pages: { means: 'Which pages to remove.' },
  },
  work: { target: () => 'pdf', methods: [{ engine, plan }] },
};

function plan(task: ToolTask) {
  const { path, facts } = onlySource(task);
  const kept = keptPages(task.input['pages'] as PageRange[], Number(facts['pages']));
  const { step, applied } = prune(task, path, kept);
  return { steps: [step, qpdfDecrypting(task, path, ...applied, '--pages', '.', pagesForQpdf(kept), '--', `${task.output}/document.pdf`)] };
}

/** @throws Failure `INVALID_OPTION` where a page does not exist, or none would be left */
function keptPages(ranges: readonly PageRange[], count: number): number[] {
  const asked = Math.max(...ranges.map(([, last]) => last));
  const refuse = (says: string, allowed: string) => misfit({ option: 'pages', received: pagesAsText(ranges), allowed, says });
  if (asked > count) throw refuse(`The file has ${pagesOf(count)}; pages names page ${asked}.`, pagesFrom1To(count));
  const removed = new Set(selectPages(ranges, count));
  if (removed.size === count)
    throw refuse(
      `The file has ${pagesOf(count)}; pages names all of them, and at least one must remain.`,
      `at most ${count - 1} of ${pagesOf(count)}`,
    );
  return Array.from({ length: count }, (_, index) => index + 1).filter((page) => !removed.has(page));
}
