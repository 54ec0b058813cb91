/** Tesseract on PDF: runs OCR on pages without text, to text or to a searchable PDF; pages with text are left as they are. */
import type { Engine } from '../engine.ts';
import { SCAN } from '../known-good.ts';
import { explainOcr, TESSERACT } from '../planning/ocr.ts';
import { explainPdf, MEASURE, measurePdf, openPdf, PDFINFO, QPDF } from '../planning/pdf.ts';
import { shareOf } from '../planning/progress.ts';

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
    pdftoppm: { at: ['/usr/bin/pdftoppm'] },
    pdftotext: { at: ['/usr/bin/pdftotext'] },
    measure: MEASURE,
    pdfinfo: PDFINFO,
    qpdf: QPDF,
  },
  conversions: [
    { source: 'pdf', target: 'txt', rank: 70, loses: ['pictures', 'layout'] },
    // A last resort unless `ocr_lang` is sent, which only this engine honours.
    { source: 'pdf', target: 'pdf', rank: 30 },
  ],
  // `dpi` alone does not request OCR for a PDF.
  trials: [{ file: SCAN, target: 'txt' }],
  options: (_, target) => (target === 'pdf' ? ['ocr_lang', 'pages', 'password'] : ['ocr_lang', 'dpi', 'pages', 'password']),
  inspect: measurePdf(),
  plan: (task) => {
    const { steps, path, warnings } = openPdf(task);
    const { ocr_lang: language = 'eng', dpi = SCAN_DPI } = task.options;
    const args = [
      path,
      `${task.output}/document.${task.target}`,
      task.scratch,
      language,
      String(dpi),
      String(task.facts['largestUnit'] ?? 1),
    ];
    return { steps: [...steps, { run: 'scan', args, progress: shareOf }], warnings };
  },
  explain: (output) => explainPdf(output) ?? explainOcr(output),
};
