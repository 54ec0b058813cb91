/** Several PDFs in one, in the order sent, with the outlines and links of all; or their pages in any order. */
import { z } from 'zod';
import type { Plan } from '../../engine.ts';
import { engine } from '../../engines/pdf/qpdf.ts';
import { choosePages, type PageRange } from '../../options/pages.ts';
import { pagesForQpdf, prune } from '../../planning/documents/pdf.ts';
import { SEVERAL_FILES, type Tool, type ToolTask } from '../../tool.ts';
import { pageOrder, qpdf } from '../../tool-families/pdf.ts';

const MAX_TOTAL_BYTES = 400 * 1024 * 1024;

export const tool: Tool = {
  slug: 'merge-pdf',
  summary: 'Joins 2 to 20 PDFs into one, in the order sent, with their outlines.',
  search: {
    en: 'join, combine, together, append, bind',
    de: 'zusammenfügen, verbinden, anhängen, mehrere',
    es: 'unir, juntar, combinar, fusionar, varios',
  },
  family: 'pdf',
  accepts: ['pdf'],
  files: { ...SEVERAL_FILES, totalBytes: MAX_TOTAL_BYTES },
  widget: 'pages',
  input: z.object({ pages: pageOrder.optional() }),
  example: { pages: '3,1,5-8' },
  texts: {
    pages: { means: 'The pages of the result, in their order, counted through all files; unset: all of them.' },
  },
  mcp: {
    name: 'merge_pdfs',
    title: 'Merge PDFs',
    description: 'Merges 2 to 20 PDFs into one, in the order given, at most 400 MB together. Keeps their outlines.',
  },
  work: { target: () => 'pdf', methods: [{ engine, plan }] },
};

/** Adds the pages of the others to the first file, whose document-level data is kept. */
function plan(task: ToolTask): Plan {
  const { sources, output, scratch, input } = task;
  const paths = sources.map(({ path }) => path);
  const [first = '', ...others] = paths;
  const joined = `${scratch}/joined.pdf`;
  const update = `${scratch}/update.json`;
  const merge = [
    qpdf('--decrypt', first, '--pages', '.', ...others, '--', joined),
    { run: 'merge', args: [joined, update, scratch, ...paths] },
  ];
  const whole = (to: string) => qpdf(joined, `--update-from-json=${update}`, '--object-streams=generate', to);
  const asked = input['pages'] as readonly PageRange[] | undefined;
  if (asked === undefined) return { steps: [...merge, whole(`${output}/document.pdf`)] };
  const count = sources.reduce((sum, { facts }) => sum + Number(facts['pages']), 0);
  const { pages, warnings } = choosePages(asked, count);
  const merged = `${scratch}/merged.pdf`;
  const { step, applied } = prune(task, merged, pages);
  const select = qpdf(merged, ...applied, '--object-streams=generate', '--pages', '.', pagesForQpdf(pages), '--', `${output}/document.pdf`);
  return { steps: [...merge, whole(merged), step, select], warnings };
}
