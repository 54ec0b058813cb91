/** Poppler's pdftotext and programs of ours: the text layer of a PDF as Markdown, or as JSON of blocks, with headings, lists and tables. */
import type { Engine } from '../../engine.ts';
import { PDF } from '../../known-good.ts';
import { MARKDOWN, MARKDOWN_LOSES, printedMarkdown } from '../../planning/documents/markdown.ts';
import { MODEL, MODEL_LOSES, MODEL_OPTIONS, printedModel } from '../../planning/documents/model.ts';
import { AWK, countWords, requireOrder, writtenText } from '../../planning/documents/page-words.ts';
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
    awk: AWK,
    markdown: MARKDOWN,
    model: MODEL,
    pdfinfo: PDFINFO,
    qpdf: QPDF,
  },
  conversions: [
    { source: 'pdf', target: 'md', rank: 50, loses: [...MARKDOWN_LOSES, 'text that is only a picture'] },
    { source: 'pdf', target: 'json', rank: 40, loses: [...MODEL_LOSES, 'text that is only a picture'] },
  ],
  trials: [{ file: PDF, target: 'md' }],
  options: (_, target) => ['pages', 'password', ...(target === 'json' ? MODEL_OPTIONS : [])],
  inspect: countPages,
  plan: (task) => {
    const { steps, path, pages, warnings } = openPdf(task);
    const layer = `${task.scratch}/layer.txt`;
    const next = countWords(layer, pages, (words) => {
      requireOrder(words);
      return { steps: (task.target === 'json' ? printedModel : printedMarkdown)(path, task) };
    });
    return { steps: [...steps, writtenText(path, layer)], warnings, next };
  },
  explain: (output, code) => reasonOfText(output, code) ?? explainPdf(output),
  limits: { memoryBytes: 2 * 1024 ** 3 },
};
