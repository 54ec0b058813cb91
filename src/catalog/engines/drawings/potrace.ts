/** Potrace: traces a picture as SVG, in black and white. */
import { type Engine, everyPair, type Plan, type Task } from '../../engine.ts';
import { PBM } from '../../known-good.ts';
import { flatten, pick, readAndEdit } from '../pictures/imagemagick/command.ts';
import { explainImageMagick } from '../pictures/imagemagick/explain.ts';
import { CONVERT, pingStep, readPing } from '../pictures/imagemagick/inspect.ts';

/** Those that Potrace reads. */
const PLAIN = ['pbm', 'pgm', 'ppm', 'bmp'];
/** Those that are decoded first. */
const OTHERS = ['png', 'jpg', 'webp', 'gif', 'tiff', 'heic'];

export const engine: Engine = {
  id: 'potrace',
  name: 'Potrace',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    potrace: { at: ['/usr/bin/potrace'], version: { args: ['--version'], pattern: /potrace (\d+\.\d+)/ } },
    convert: CONVERT,
  },
  conversions: everyPair([...PLAIN, ...OTHERS], ['svg'], { rank: 40, loses: ['colour', 'shades of grey'] }),
  trials: [{ file: PBM, target: 'svg' }],
  options: () => [],
  inspect: { step: pingStep, read: readPing },
  plan,
  explain: explainImageMagick,
  limits: { memoryBytes: 1024 ** 3 },
};

function plan(task: Task): Plan {
  const { source, input, output, scratch } = task;
  const trace = (path: string, name = 'out') => ({ run: 'potrace', args: ['--svg', '--output', `${output}/${name}.svg`, path] });
  if (PLAIN.includes(source)) return { steps: [trace(input)] };
  const { indices, warnings } = pick(task, undefined);
  const gray = `${scratch}/gray.pgm`;
  const decode = [...flatten('#ffffff'), '-colorspace', 'Gray', '-depth', '8', `pgm:${gray}`];
  return {
    warnings,
    // A TIFF has pages.
    steps: indices.flatMap((index, at) => [
      { run: 'convert', args: [...readAndEdit(task, [index]).args, ...decode] },
      trace(gray, indices.length > 1 ? `out-${String(at + 1).padStart(4, '0')}` : 'out'),
    ]),
  };
}
