/** Encapsulated PostScript, written only: librsvg's drawing, or a PDF of the picture that Poppler writes as PostScript. */
import type { Engine, Plan, Task } from '../engine.ts';
import { everyPair } from '../engine.ts';
import { PNG, SVG } from '../known-good.ts';
import { READERS } from './imagemagick/coders.ts';
import { engine as rsvg } from './rsvg.ts';
import { engine as tiff2pdf } from './tiff2pdf.ts';

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
    ...rsvg.binaries,
  },
  conversions: [...everyPair(PICTURES, ['eps'], { rank: 60, loses: ['transparency'] }), { source: 'svg', target: 'eps', rank: 80 }],
  trials: [
    { file: PNG, target: 'eps' },
    { file: SVG, target: 'eps' },
  ],
  options: (source, target) => (source === 'svg' ? [] : tiff2pdf.options(source, target)),
  inspect: {
    step: (input, task) => inspectionOf(task.source).step(input, task),
    read: (stdout, task) => inspectionOf(task.source).read(stdout, task),
  },
  plan: (task) => (task.source === 'svg' ? drawing(task) : picture(task)),
  explain: (output, code) => tiff2pdf.explain?.(output, code),
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

function inspectionOf(source: string) {
  const { inspect } = source === 'svg' ? rsvg : tiff2pdf;
  if (inspect === undefined) throw new Error(`nothing inspects a ${source}`);
  return inspect;
}

const drawing = ({ input, output }: Task): Plan => ({
  steps: [{ run: 'rsvg', args: ['--format', 'eps', '--output', `${output}/out.eps`, input] }],
});

function picture(task: Task): Plan {
  const { steps, ...told } = tiff2pdf.plan({ ...task, output: task.scratch });
  return { ...told, steps: [...steps, { run: 'pdftops', args: ['-eps', '-level3', `${task.scratch}/out.pdf`, `${task.output}/out.eps`] }] };
}
