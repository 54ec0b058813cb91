/** Poppler's pdftotext: the text layer of a PDF. */
import type { Engine } from '../../engine.ts';
import { PDF } from '../../known-good.ts';
import { distinctWords, joinedWords, MEASURED_PAGES } from '../../planning/contents/words.ts';
import { AWK, countWords, UNORDERED, writtenText } from '../../planning/documents/page-words.ts';
import { countPages, explainPdf, openPdf, PDFINFO, QPDF, textLayer } from '../../planning/documents/pdf.ts';

export const engine: Engine = {
  id: 'pdftotext',
  name: 'Poppler',
  role: 'pdf',
  // Not `image`: there a picture would become a PDF, and that an empty text instead of OCR.
  toolchains: ['pdf', 'office'],
  binaries: {
    pdftotext: { at: ['/usr/bin/pdftotext'], version: { args: ['-v'], pattern: /version (\d+\.\d+)/ } },
    awk: AWK,
    pdfinfo: PDFINFO,
    qpdf: QPDF,
  },
  conversions: [{ source: 'pdf', target: 'txt', rank: 60, loses: ['layout', 'pictures', 'text that is only a picture'] }],
  trials: [{ file: PDF, target: 'txt' }],
  options: () => ['pages', 'password'],
  inspect: countPages,
  plan: (task) => {
    const { steps, path, pages, warnings } = openPdf(task);
    const layer = `${task.output}/document.txt`;
    const next = countWords(layer, pages, ({ isOrdered }) =>
      isOrdered ? { steps: [textLayer(path, layer)] } : { steps: [], warnings: [UNORDERED] },
    );
    return { steps: [...steps, writtenText(path, layer)], warnings, next };
  },
  measures: {
    formats: new Set(['pdf']),
    step: (input) => ({ run: 'pdftotext', args: ['-q', '-raw', '-enc', 'UTF-8', '-l', String(MEASURED_PAGES), input, '-'] }),
    read: (stdout) => ({ words: distinctWords(stdout), joined: joinedWords(stdout) }),
  },
  explain: explainPdf,
};
