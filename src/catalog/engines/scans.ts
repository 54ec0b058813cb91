/** Tesseract on PDF: runs OCR on pages without text, to text, to Markdown or to a searchable PDF; pages with text are left as they are. */
import type { Engine } from '../engine.ts';
import { PDF, SCAN } from '../known-good.ts';
import { MARKDOWN, MARKDOWN_LOSES, markdownStep } from '../planning/markdown.ts';
import { explainOcr, TESSERACT } from '../planning/ocr.ts';
import { explainPdf, MEASURE, measurePdf, openPdf, PDFINFO, QPDF } from '../planning/pdf.ts';
import { shareOf } from '../planning/progress.ts';
import { reasonOfText } from '../planning/told.ts';

/** Tesseract is trained on scans of about this resolution (Tesseract documentation, "Improving the quality of the output"). */
const SCAN_DPI = 300;

export const engine: Engine = {
  id: 'scans',
  name: 'Tesseract',
  role: 'ocr',
  toolchains: ['pdf'],
  binaries: {
    tesseract: TESSERACT,
    scan: { at: ['program:scan.ts'] },
    markdown: MARKDOWN,
    pdftoppm: { at: ['/usr/bin/pdftoppm'] },
    pdftotext: { at: ['/usr/bin/pdftotext'] },
    measure: MEASURE,
    pdfinfo: PDFINFO,
    qpdf: QPDF,
  },
  conversions: [
    { source: 'pdf', target: 'txt', rank: 70, loses: ['pictures', 'layout'] },
    { source: 'pdf', target: 'md', rank: 65, loses: MARKDOWN_LOSES },
    // A last resort unless `ocr_lang` is sent, which only this engine honours.
    { source: 'pdf', target: 'pdf', rank: 30 },
  ],
  // `dpi` alone does not request OCR for a PDF.
  trials: [
    { file: SCAN, target: 'txt' },
    { file: PDF, target: 'md' },
  ],
  options: (_, target) => (target === 'pdf' ? ['ocr_lang', 'pages', 'password'] : ['ocr_lang', 'dpi', 'pages', 'password']),
  inspect: measurePdf(),
  plan: (task) => {
    const { steps, path, warnings } = openPdf(task);
    const { ocr_lang: language = 'eng', dpi = SCAN_DPI } = task.options;
    const isMarkdown = task.target === 'md';
    const written = isMarkdown ? `${task.scratch}/words.tsv` : `${task.output}/document.${task.target}`;
    const args = [path, written, task.scratch, language, String(dpi), String(task.facts['largestUnit'] ?? 1)];
    const next = isMarkdown ? [markdownStep(written, task.output)] : [];
    return { steps: [...steps, { run: 'scan', args, progress: shareOf }, ...next], warnings };
  },
  explain: (output, code) => reasonOfText(output, code) ?? explainPdf(output) ?? explainOcr(output),
};
