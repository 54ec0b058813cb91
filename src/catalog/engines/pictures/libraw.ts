/** LibRaw: develops the picture of a camera's sensor, never the preview that the file has beside it. */
import { conversionFailed, inputLimit } from '../../../errors.ts';
import { MAX_PIXELS } from '../../bounds.ts';
import { type Engine, everyPair, type Facts } from '../../engine.ts';
import { DNG } from '../../known-good.ts';
import { explainImageMagick } from './imagemagick/explain.ts';
import { CONVERT, IMAGEMAGICK_LIMITS } from './imagemagick/inspect.ts';

/** The curve of sRGB (IEC 61966-2-1). */
const GAMMA = ['-g', '2.4', '12.92'];

const RAWS = ['dng', 'cr2', 'cr3', 'crw', 'nef', 'arw', 'srw', 'pef', 'raf', 'orf', 'rw2', 'mrw', 'x3f'];

export const engine: Engine = {
  id: 'libraw',
  name: 'LibRaw',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    identify: { at: ['/usr/bin/raw-identify'] },
    develop: { at: ['/usr/bin/dcraw_emu'] },
    convert: CONVERT,
  },
  conversions: everyPair(RAWS, ['png'], { rank: 90 }),
  trials: [{ file: DNG, target: 'png' }],
  options: () => [],
  inspect: { step: (input) => ({ run: 'identify', args: ['-v', input] }), read: sizeOf },
  plan: ({ input, scratch, output }) => ({
    steps: [
      // As the camera balanced white, in sRGB, with 16 bits.
      { run: 'develop', args: ['-w', '-o', '1', '-6', ...GAMMA, '-T', '-Z', `${scratch}/developed.tiff`, input] },
      // The profile describes sRGB by another curve, which some readers of JPEG XL ignore.
      { run: 'convert', args: [...IMAGEMAGICK_LIMITS, `tiff:${scratch}/developed.tiff`, '+profile', 'icc', `png:${output}/out.png`] },
    ],
  }),
  explain: explainImageMagick,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

/** @throws Failure `input_limit`, or `corrupt_input` if no sensor's picture is found */
function sizeOf(stdout: string): Facts {
  const [, width, height] = /^Full size:\s+(\d+) x (\d+)/m.exec(stdout) ?? [];
  if (width === undefined || height === undefined) throw conversionFailed('corrupt_input');
  const pixels = Number(width) * Number(height);
  if (pixels > MAX_PIXELS) throw inputLimit('pixels', MAX_PIXELS, pixels);
  return {};
}
