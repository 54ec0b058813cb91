/** Potrace: the outlines of a picture in black and white, as SVG. */
import { type Engine, everyPair } from '../engine.ts';

export const engine: Engine = {
  id: 'potrace',
  name: 'Potrace',
  role: 'image',
  toolchains: ['image'],
  binaries: { potrace: { at: ['/usr/bin/potrace'], version: { args: ['--version'], pattern: /potrace (\d+\.\d+)/ } } },
  conversions: everyPair(['pbm', 'pgm', 'ppm', 'bmp'], ['svg'], { rank: 40, loses: ['colour', 'shades of grey'] }),
  options: () => [],
  plan: ({ input, output }) => ({ steps: [{ run: 'potrace', args: ['--svg', '--output', `${output}/out.svg`, input] }] }),
  limits: { memoryBytes: 1024 ** 3 },
};
