/** qpdf: PDF rewritten as PDF without drawing anything anew: decrypted, mended, reduced to some pages. */
import type { Engine } from '../engine.ts';
import { countPages, explainPdf, openPdf, PDFINFO, QPDF } from '../planning/pdf.ts';

export const engine: Engine = {
  id: 'qpdf',
  name: 'qpdf',
  role: 'pdf',
  toolchains: ['pdf'],
  binaries: {
    qpdf: QPDF,
    pdfinfo: PDFINFO,
    // For the tools that are done by plans of their own.
    merge: { at: ['program:merge.ts'] },
    lock: { at: ['program:lock.ts'] },
    copy: { at: ['/usr/bin/cp', '/bin/cp'] },
  },
  conversions: [{ source: 'pdf', target: 'pdf', rank: 95 }],
  options: () => ['password', 'pages'],
  inspect: countPages,
  // Scripts and attachments inside the PDF stay: nothing here runs them, and the client asked for this file.
  plan: (task) => {
    const { steps, warnings } = openPdf(task, `${task.output}/document.pdf`);
    return { steps, warnings };
  },
  explain: explainPdf,
};
