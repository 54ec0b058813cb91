/** Poppler: PDF pages as pictures and SVG. */
import type { Engine, ProcessStep, Task } from '../../engine.ts';
import { PDF } from '../../known-good.ts';
import { DEFAULT_DPI, explainPdf, MEASURE, measurePdf, type OpenedPdf, openPdf, PDFINFO, QPDF } from '../../planning/documents/pdf.ts';

const DEFAULT_QUALITY = 85;
const LOST_IN_PICTURES = ['text', 'links'];

export const engine: Engine = {
  id: 'poppler',
  name: 'Poppler',
  role: 'pdf',
  toolchains: ['pdf', 'office', 'image'],
  binaries: {
    pdftoppm: { at: ['/usr/bin/pdftoppm'], version: { args: ['-v'], pattern: /version (\d+\.\d+)/ } },
    pdftocairo: { at: ['/usr/bin/pdftocairo'] },
    measure: MEASURE,
    pdfinfo: PDFINFO,
    qpdf: QPDF,
  },
  conversions: [
    { source: 'pdf', target: 'png', rank: 90, loses: LOST_IN_PICTURES },
    { source: 'pdf', target: 'jpg', rank: 90, loses: LOST_IN_PICTURES },
    { source: 'pdf', target: 'svg', rank: 70, loses: ['links'] },
  ],
  trials: [
    { file: PDF, target: 'png' },
    { file: PDF, target: 'svg' },
  ],
  options: (_, target) => {
    if (target === 'png') return ['dpi', 'pages', 'password'];
    return target === 'jpg' ? ['dpi', 'img_quality', 'pages', 'password'] : ['pages', 'password'];
  },
  inspect: measurePdf(({ target, options }) => (target === 'png' || target === 'jpg' ? (options.dpi ?? DEFAULT_DPI) : undefined)),
  plan: (task) => {
    const opened = openPdf(task);
    return { steps: [...opened.steps, ...draw(task, opened)], warnings: opened.warnings };
  },
  explain: explainPdf,
};

function draw({ target, options, output }: Task, { path, pages }: OpenedPdf): readonly ProcessStep[] {
  switch (target) {
    case 'svg':
      return Array.from({ length: pages }, (_, index) => drawing(path, index + 1, `${output}/page-${numbered(index + 1)}.svg`));
    default: {
      const format = target === 'jpg' ? ['-jpeg', '-jpegopt', `quality=${Math.max(1, options.img_quality ?? DEFAULT_QUALITY)}`] : ['-png'];
      // Viewers show the crop box, and `pdfinfo` measured it.
      const args = ['-cropbox', '-r', String(options.dpi ?? DEFAULT_DPI), '-progress', ...format, path, `${output}/page`];
      return [{ run: 'pdftoppm', args, progress: pageOf }];
    }
  }
}

const numbered = (page: number): string => String(page).padStart(3, '0');

const drawing = (path: string, page: number, to: string): ProcessStep => ({
  run: 'pdftocairo',
  args: ['-svg', '-f', String(page), '-l', String(page), path, to],
});

/** `pdftoppm -progress` prints `2 5 name` when the second of five pages is written. */
function pageOf(line: string): number | undefined {
  const [, done, all] = /^(\d+) (\d+) /.exec(line) ?? [];
  return done === undefined ? undefined : Number(done) / Number(all);
}
