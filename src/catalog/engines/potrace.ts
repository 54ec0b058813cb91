/** Potrace: traces a black-and-white picture as SVG. */
import { type Engine, everyPair } from '../engine.ts';
import { PBM } from '../known-good.ts';
import { explain } from './imagemagick/explain.ts';
import { CONVERT, pingStep, readPing } from './imagemagick/inspect.ts';

export const engine: Engine = {
  id: 'potrace',
  name: 'Potrace',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    potrace: { at: ['/usr/bin/potrace'], version: { args: ['--version'], pattern: /potrace (\d+\.\d+)/ } },
    convert: CONVERT,
  },
  conversions: everyPair(['pbm', 'pgm', 'ppm', 'bmp'], ['svg'], { rank: 40, loses: ['colour', 'shades of grey'] }),
  trials: [{ file: PBM, target: 'svg' }],
  options: () => [],
  inspect: { step: pingStep, read: readPing },
  plan: ({ input, output }) => ({ steps: [{ run: 'potrace', args: ['--svg', '--output', `${output}/out.svg`, input] }] }),
  explain,
  limits: { memoryBytes: 1024 ** 3 },
};
