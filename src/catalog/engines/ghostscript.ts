/** Ghostscript: compresses a PDF by downsampling its pictures, and draws a PDF as a multi-page TIFF. */
import type { Engine } from '../engine.ts';
import { DEFAULT_DPI, explainPdf, MEASURE, measurePdf, openPdf, PDFINFO, QPDF } from '../planning/pdf.ts';

const DEFAULT_QUALITY = 50;

/** The distiller's presets (Ghostscript manual, "Distiller parameters"): pictures at 72, 150, 300 and 300 dpi. */
const preset = (quality: number): string => {
  if (quality <= 25) return '/screen';
  if (quality <= 50) return '/ebook';
  return quality <= 75 ? '/printer' : '/prepress';
};

export const engine: Engine = {
  id: 'ghostscript',
  name: 'Ghostscript',
  role: 'pdf',
  toolchains: ['pdf'],
  binaries: {
    gs: { at: ['/usr/bin/gs'], version: { args: ['--version'], pattern: /^(\d+\.\d+)/m } },
    qpdf: QPDF,
    measure: MEASURE,
    pdfinfo: PDFINFO,
  },
  conversions: [
    { source: 'pdf', target: 'pdf', rank: 60, loses: ['resolution of pictures', 'forms and scripts'] },
    { source: 'pdf', target: 'tiff', rank: 70, loses: ['text', 'links'] },
  ],
  options: (_, target) => (target === 'pdf' ? ['img_quality', 'password', 'pages'] : ['dpi', 'password', 'pages']),
  inspect: measurePdf(({ target, options }) => (target === 'tiff' ? (options.dpi ?? DEFAULT_DPI) : undefined)),

  plan: (task) => {
    // Ghostscript runs any file that does not begin as a PDF as a PostScript program, so it gets only what qpdf wrote.
    const { steps, path, pages, warnings } = openPdf(task, `${task.scratch}/rewritten.pdf`);
    const device =
      task.target === 'tiff'
        ? ['-sDEVICE=tiff24nc', '-sCompression=lzw', `-r${task.options.dpi ?? DEFAULT_DPI}`, '-dTextAlphaBits=4', '-dGraphicsAlphaBits=4']
        : ['-sDEVICE=pdfwrite', `-dPDFSETTINGS=${preset(task.options.img_quality ?? DEFAULT_QUALITY)}`];
    const output = `${task.output}/document.${task.target}`;
    const args = ['-dSAFER', '-dBATCH', '-dNOPAUSE', '-dUseCropBox', ...device, `-sOutputFile=${output}`, path];
    return { steps: [...steps, { run: 'gs', args, progress: (line) => pageOf(line, pages) }], warnings };
  },
  explain: (output) => explainPdf(output) ?? (/VMerror/.test(output) ? 'memory' : undefined),
};

/** Ghostscript prints `Page 3` when it begins page 3. */
function pageOf(line: string, pages: number): number | undefined {
  const page = /^Page (\d+)$/.exec(line)?.[1];
  return page === undefined ? undefined : (Number(page) - 1) / pages;
}
