/** qpdf: rewrites a PDF without re-rendering it: decrypts, repairs, and selects pages. */
import type { Engine } from '../../engine.ts';
import { PDF } from '../../known-good.ts';
import { countPages, explainPdf, openPdf, PDFINFO, PRUNE, QPDF } from '../../planning/documents/pdf.ts';

export const engine: Engine = {
  id: 'qpdf',
  name: 'qpdf',
  role: 'pdf',
  toolchains: ['pdf'],
  binaries: {
    qpdf: QPDF,
    pdfinfo: PDFINFO,
    prune: PRUNE,
    // For the tools that have their own plans.
    merge: { at: ['program:pdf/merge.ts'] },
    lock: { at: ['program:pdf/lock.ts'] },
    copy: { at: ['/usr/bin/cp', '/bin/cp'] },
  },
  conversions: [{ source: 'pdf', target: 'pdf', rank: 95 }],
  trials: [{ file: PDF, target: 'pdf' }],
  options: () => ['password', 'pages'],
  inspect: countPages,
  // Scripts and attachments in the PDF are kept: nothing here runs them, and they belong to the client's file.
  plan: (task) => {
    // What forbids changes to a file that opens without a password stays in it: PDF to PDF is not how to remove that.
    const facts = { ...task.facts, encrypted: false };
    const { steps, warnings } = openPdf({ ...task, facts }, `${task.output}/document.pdf`);
    return { steps, warnings };
  },
  explain: explainPdf,
};
