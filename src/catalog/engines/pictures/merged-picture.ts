/** OpenRaster and Krita: a ZIP that holds, beside its layers, the picture that they make together (OpenRaster 0.0.6, "mergedimage.png"). */
import { type Engine, everyPair } from '../../engine.ts';
import { ORA } from '../../known-good.ts';
import { explainImageMagick } from './imagemagick/explain.ts';
import { CONVERT, IMAGEMAGICK_LIMITS } from './imagemagick/inspect.ts';

/** Nothing on disk: what does not fit into memory is refused. */
const LIMITS = [...IMAGEMAGICK_LIMITS, '-limit', 'disk', '0', '-limit', 'area', '100MP'];

export const engine: Engine = {
  id: 'merged-picture',
  name: 'Info-ZIP',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    unzip: { at: ['/usr/bin/unzip'], version: { args: ['-v'], pattern: /UnZip (\d+\.\d+)/ } },
    convert: CONVERT,
  },
  conversions: everyPair(['ora', 'kra'], ['png'], { rank: 90, loses: ['layers'] }),
  trials: [{ file: ORA, target: 'png' }],
  options: () => [],
  plan: ({ input, scratch, output }) => ({
    steps: [
      // One part, whose name is ours, to a file whose name is ours.
      { run: 'unzip', args: ['-p', input, 'mergedimage.png'], stdoutTo: `${scratch}/merged.png` },
      { run: 'convert', args: [...LIMITS, `png:${scratch}/merged.png`, `png:${output}/out.png`] },
    ],
  }),
  explain: explainImageMagick,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};
