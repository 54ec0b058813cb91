/** Poppler's pdftotext and a program of ours: the text layer of a PDF as Markdown, with headings, lists and tables. */
import type { Engine } from '../../engine.ts';
import { PDF } from '../../known-good.ts';
import { MARKDOWN, MARKDOWN_LOSES, printedMarkdown } from '../../planning/documents/markdown.ts';
import { countPages, explainPdf, openPdf, PDFINFO, QPDF } from '../../planning/documents/pdf.ts';
import { reasonOfText } from '../../planning/told.ts';

export const engine: Engine = {
  id: 'pdf-markdown',
  name: 'filemill markdown',
  role: 'pdf',
  // Where there is OCR, it reads the pages without text, too (scans.ts). Sheets have a better way, by HTML.
  toolchains: ['office'],
  binaries: {
    pdftotext: { at: ['/usr/bin/pdftotext'], version: { args: ['-v'], pattern: /version (\d+\.\d+)/ } },
    markdown: MARKDOWN,
    pdfinfo: PDFINFO,
    qpdf: QPDF,
  },
  conversions: [{ source: 'pdf', target: 'md', rank: 50, loses: [...MARKDOWN_LOSES, 'text that is only a picture'] }],
  trials: [{ file: PDF, target: 'md' }],
  options: () => ['pages', 'password'],
  inspect: countPages,
  plan: (task) => {
    const { steps, path, warnings } = openPdf(task);
    return { steps: [...steps, ...printedMarkdown(path, task)], warnings };
  },
  explain: (output, code) => reasonOfText(output, code) ?? explainPdf(output),
  limits: { memoryBytes: 2 * 1024 ** 3 },
};
