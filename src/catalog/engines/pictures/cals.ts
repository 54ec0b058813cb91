/** CALS raster: `raster` puts the fax that it contains into a TIFF, which ImageMagick reads. Version 7 of that cannot read CALS with libtiff 4.7. */
import { type Engine, everyPair } from '../../engine.ts';
import { CALS } from '../../known-good.ts';
import { ownStep } from '../../planning/told.ts';
import { explainImageMagick } from './imagemagick/explain.ts';
import { CONVERT, IMAGEMAGICK_LIMITS } from './imagemagick/inspect.ts';
import { RASTER } from './imagemagick/photoshop.ts';
import { sizeStep } from './raster.ts';

export const engine: Engine = {
  id: 'cals',
  name: 'ImageMagick',
  role: 'image',
  toolchains: ['image', 'pdf'],
  binaries: { convert: CONVERT, ...RASTER },
  conversions: everyPair(['cal'], ['png'], { rank: 90 }),
  trials: [{ file: CALS, target: 'png' }],
  options: () => [],
  inspect: sizeStep,
  plan: ({ input, scratch, output }) => {
    const tiff = `${scratch}/fax.tiff`;
    return {
      steps: [
        ownStep('raster', ['unwrap', input, tiff]),
        { run: 'convert', args: [...IMAGEMAGICK_LIMITS, `tiff:${tiff}`, '-auto-orient', '-type', 'Bilevel', `png:${output}/out.png`] },
      ],
    };
  },
  explain: explainImageMagick,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};
