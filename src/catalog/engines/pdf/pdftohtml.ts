/** Poppler's pdftohtml: the text of a PDF as one HTML page, with each line at its position. */
import type { Engine } from '../../engine.ts';
import { PDF } from '../../known-good.ts';
import { AWK, countWords, requirePlaces, writtenText } from '../../planning/documents/page-words.ts';
import { explainPdf, MEASURE, measureStrings, openPdf, PDFINFO, QPDF } from '../../planning/documents/pdf.ts';
import { ownStep } from '../../planning/told.ts';

export const engine: Engine = {
  id: 'pdftohtml',
  name: 'Poppler',
  role: 'pdf',
  toolchains: ['pdf', 'office'],
  binaries: {
    pdftohtml: { at: ['/usr/bin/pdftohtml'], version: { args: ['-v'], pattern: /version (\d+\.\d+)/ } },
    pdftotext: { at: ['/usr/bin/pdftotext'] },
    awk: AWK,
    html: { at: ['program:pdf/html.ts'] },
    measure: MEASURE,
    pdfinfo: PDFINFO,
    qpdf: QPDF,
  },
  // Too low for chains: lines are positioned by coordinates, which no other format supports.
  conversions: [{ source: 'pdf', target: 'html', rank: 45, loses: ['pictures', 'paragraphs and tables as such'] }],
  trials: [{ file: PDF, target: 'html' }],
  options: () => ['pages', 'password'],
  inspect: measureStrings,
  plan: (task) => {
    const { steps, path, pages, warnings } = openPdf(task);
    // `-s`: one file for all pages; `-i`: without pictures, which would be separate files.
    const found = `${task.scratch}/found.html`;
    const args = ['-s', '-i', '-noframes', '-enc', 'UTF-8', '-q', path, found];
    const layer = `${task.scratch}/layer.txt`;
    const next = countWords(layer, pages, (words) => {
      requirePlaces(words);
      return { steps: [{ run: 'pdftohtml', args }, ownStep('html', [found, `${task.output}/document.html`])] };
    });
    return { steps: [...steps, writtenText(path, layer)], warnings, next };
  },
  explain: explainPdf,
};
