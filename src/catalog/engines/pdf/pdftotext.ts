/** Poppler's pdftotext: the text layer of a PDF. */
import type { Engine } from '../../engine.ts';
import { PDF } from '../../known-good.ts';
import { countPages, explainPdf, openPdf, PDFINFO, QPDF, textLayer } from '../../planning/documents/pdf.ts';

export const engine: Engine = {
  id: 'pdftotext',
  name: 'Poppler',
  role: 'pdf',
  // Not `image`: there a picture would become a PDF, and that an empty text instead of OCR.
  toolchains: ['pdf', 'office'],
  binaries: {
    pdftotext: { at: ['/usr/bin/pdftotext'], version: { args: ['-v'], pattern: /version (\d+\.\d+)/ } },
    pdfinfo: PDFINFO,
    qpdf: QPDF,
  },
  conversions: [{ source: 'pdf', target: 'txt', rank: 60, loses: ['layout', 'pictures', 'text that is only a picture'] }],
  trials: [{ file: PDF, target: 'txt' }],
  options: () => ['pages', 'password'],
  inspect: countPages,
  plan: (task) => {
    const { steps, path, warnings } = openPdf(task);
    return { steps: [...steps, textLayer(path, `${task.output}/document.txt`)], warnings };
  },
  explain: explainPdf,
};
