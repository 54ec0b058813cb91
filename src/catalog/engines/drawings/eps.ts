/** Encapsulated PostScript, written only: a PDF of the picture, which Poppler writes as PostScript. */
import { type Engine, everyPair, type Plan, type Task } from '../../engine.ts';
import { PNG } from '../../known-good.ts';
import { engine as tiff2pdf } from '../pdf/tiff2pdf.ts';
import { READERS } from '../pictures/imagemagick/coders.ts';

/** Those that hold one picture: EPS is one page. */
const PICTURES = Object.entries(READERS).flatMap(([source, { takes }]) => (takes === 'pages' ? [] : [source]));

export const engine: Engine = {
  id: 'eps',
  name: 'Poppler',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    pdftops: { at: ['/usr/bin/pdftops'], version: { args: ['-v'], pattern: /version (\d+\.\d+)/ } },
    ...tiff2pdf.binaries,
  },
  // Below what a chain may have: a drawing or a page would become pixels.
  conversions: everyPair(PICTURES, ['eps'], { rank: 49, loses: ['transparency'] }),
  trials: [{ file: PNG, target: 'eps' }],
  options: tiff2pdf.options,
  ...(tiff2pdf.inspect && { inspect: tiff2pdf.inspect }),
  plan,
  explain: (output, code) => tiff2pdf.explain?.(output, code),
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

function plan(task: Task): Plan {
  const { steps, ...told } = tiff2pdf.plan({ ...task, output: task.scratch });
  return { ...told, steps: [...steps, { run: 'pdftops', args: ['-eps', '-level3', `${task.scratch}/out.pdf`, `${task.output}/out.eps`] }] };
}
