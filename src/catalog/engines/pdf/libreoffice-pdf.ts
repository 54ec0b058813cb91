/** LibreOffice's PDF import, in the word processor. It would report a single page for any PDF, so the pages are counted first. */
import { type Engine, everyPair } from '../../engine.ts';
import { PDF } from '../../known-good.ts';
import { explainPdf, MEASURE, measurePdf, openPdf, PDFINFO, QPDF, shownSizes } from '../../planning/documents/pdf.ts';
import { askOffice, explainOffice, OFFICE, OFFICE_LIMITS } from '../documents/libreoffice/ask.ts';

const MEASURED = measurePdf();

export const engine: Engine = {
  id: 'libreoffice-pdf',
  name: 'LibreOffice',
  role: 'office',
  toolchains: ['office'],
  binaries: { ...OFFICE, measure: MEASURE, pdfinfo: PDFINFO, qpdf: QPDF },
  conversions: everyPair(['pdf'], ['docx', 'odt'], {
    rank: 40,
    loses: ['the flow of the text (it stays in frames where the page had it)', 'tables and lists as such'],
  }),
  trials: [{ file: PDF, target: 'odt', slow: true }],
  options: () => ['password'],
  inspect: {
    ...MEASURED,
    read: (stdout, task) => {
      const facts = MEASURED.read(stdout, task);
      return { ...facts, sizes: shownSizes(stdout, Number(facts['pages'])) };
    },
  },
  plan: (task) => {
    // LibreOffice 7.4 does not load a PDF with AES encryption, with or without a password: it gets a decrypted one.
    const { steps, path, warnings } = openPdf(task);
    const pageSizes = task.facts['sizes'] as readonly (readonly [number, number])[];
    const { steps: asked } = askOffice({ ...task, input: path, passwordFile: undefined }, 'text', { pageSizes });
    return { steps: [...steps, ...asked], warnings };
  },
  explain: (output) => explainOffice(output) ?? explainPdf(output),
  limits: OFFICE_LIMITS,
};
