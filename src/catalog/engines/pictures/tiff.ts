/**
 * TIFF, of which there are more kinds than any decoder reads: libvips or ImageMagick decodes, by what the file says of itself, and the engine of
 * the target goes on with that.
 */
import type { Engine } from '../../engine.ts';
import { TIFF } from '../../known-good.ts';
import { explainImageMagick } from './imagemagick/explain.ts';
import { converted, engine as imagemagick } from './imagemagick.ts';
import { engine as sharp } from './sharp.ts';
import { planImageMagick, planVips, TIFFINFO } from './tiff/read.ts';
import { readTags, tagsStep } from './tiff/tags.ts';

const from = ({ conversions }: Engine) => conversions.filter(({ source }) => source === 'tiff');
const byVips = new Set(from(sharp).map(({ target }) => target));

export const engine: Engine = {
  id: 'tiff',
  name: 'libtiff',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    tiffinfo: TIFFINFO,
    ...sharp.binaries,
    ...imagemagick.binaries,
  },
  // Each better than what reads the file without a look.
  conversions: [...from(sharp), ...from(imagemagick).filter(({ target }) => !byVips.has(target))].map(({ rank, ...conversion }) => ({
    ...conversion,
    rank: rank + 1,
  })),
  trials: [
    { file: TIFF, target: 'png' },
    { file: TIFF, target: 'bmp' },
  ],
  options: (source, target) => (byVips.has(target) ? sharp : imagemagick).options(source, target),
  inspect: { step: tagsStep, read: readTags },
  plan: (task) => (byVips.has(task.target) ? planVips(task) : planImageMagick(task, converted)),
  explain: explainImageMagick,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};
