/** Inspects a picture with ImageMagick before anything is decoded, and enforces bounds. */
import { conversionFailed, inputLimit } from '../../../../errors.ts';
import { MAX_FRAMES, MAX_PHOTO_PIXELS, MAX_PIXELS, MAX_PIXELS_TOGETHER } from '../../../bounds.ts';
import type { Binary, Facts, ProcessStep } from '../../../engine.ts';
import { orientationOf } from '../../../planning/pictures/png.ts';
import { READERS } from './coders.ts';

/** px. */
export const LONGEST_SIDE = 32_000;

/**
 * ImageMagick uses the smaller of these and of the limits in policy.xml. Width and height in pixels; beyond `memory` it uses a file, up to `disk`.
 * (imagemagick.org/script/resources.php)
 */
export const IMAGEMAGICK_LIMITS = [
  ['width', `${LONGEST_SIDE / 1000}KP`],
  ['height', `${LONGEST_SIDE / 1000}KP`],
  ['area', '128MP'],
  ['memory', '512MiB'],
  ['map', '1GiB'],
  ['disk', '4GiB'],
  ['thread', '2'],
].flatMap(([resource, most]) => ['-limit', `${resource}`, `${most}`]);

/** Not `/usr/bin/convert`, which may be another program. */
export const CONVERT: Binary = {
  at: ['/usr/bin/convert-im6.q16', '/usr/bin/convert-im7.q16', '/usr/bin/magick'],
  version: { args: ['-version'], pattern: /ImageMagick (\d+\.\d+\.\d+)/ },
};

export interface Frame {
  /** Pixels as stored: orientation is not applied yet. */
  readonly width: number;
  readonly height: number;
  /** It may be partly transparent. */
  readonly alpha: boolean;
  /** It is displayed as stored: no EXIF orientation rotates or mirrors it. */
  readonly upright: boolean;
  /** The EXIF orientation rotates the picture by 90 or 270 degrees. */
  readonly onItsSide: boolean;
  readonly profile: boolean;
  /** More than 16 bits a sample, with which Netpbm's formats would be written, too. */
  readonly deeper?: boolean;
  /** At most 8 bits a sample: version 7 says 8 of fewer. */
  readonly shallow?: boolean;
  /** Pixels per inch; undefined if the file does not state it, or an unlikely value. */
  readonly density: number | undefined;
}

/** Needs the binary `convert`. */
export const pingStep = (input: string, { source }: { readonly source: string }): ProcessStep => ({
  run: 'convert',
  // For a PNG beyond the limits, ImageMagick reports nothing unless exceptions are logged.
  args: [
    ...IMAGEMAGICK_LIMITS,
    '-debug',
    'exception',
    '-ping',
    `${READERS[source]?.coder}:${input}`,
    '-format',
    '%w %h %x %U %A %[orientation] %z %[profile:icc]\n',
    'info:',
  ],
});

/** @throws Failure `CONVERSION_FAILED` if a bound is exceeded or there is no frame */
export function readPing(stdout: string): Facts {
  const frames = stdout.split('\n').flatMap((line): Frame[] => {
    if (line === '') return [];
    const [width = '', height = '', resolution, units, alpha, orientation, depth, profile = ''] = line.split(' ', 8);
    if (!isNumber(width) || !isNumber(height) || !resolution || !units || !alpha || orientation === undefined) return [];
    return [
      {
        width: Number(width),
        height: Number(height),
        alpha: !['False', 'Undefined', 'Off'].includes(alpha),
        upright: ['', 'Undefined', 'TopLeft'].includes(orientation),
        onItsSide: ['LeftTop', 'RightTop', 'RightBottom', 'LeftBottom'].includes(orientation),
        profile: profile !== '',
        deeper: Number(depth) > 16,
        shallow: Number(depth) <= 8,
        density: dotsPerInch(Number(resolution), units),
      },
    ];
  });
  return { frames: boundedFrames(frames) };
}

/** @throws Failure `CONVERSION_FAILED` if a bound is exceeded or there is no frame */
export function boundedFrames<F extends Frame>(frames: readonly F[]): readonly F[] {
  if (frames.length === 0) throw conversionFailed('corrupt_input');
  if (frames.length > MAX_FRAMES) throw inputLimit('frames', MAX_FRAMES, frames.length);
  const areas = frames.map(({ width, height }) => width * height);
  const largest = Math.max(...areas);
  if (largest > MAX_PIXELS) throw inputLimit('pixels', MAX_PIXELS, largest);
  const together = areas.reduce((sum, area) => sum + area, 0);
  if (together > MAX_PIXELS_TOGETHER) throw inputLimit('pixels of all frames', MAX_PIXELS_TOGETHER, together);
  if (largest < 1) throw conversionFailed('corrupt_input');
  return frames;
}

const isNumber = (text: string): boolean => /^\d+$/.test(text);

const dotsPerInch = (resolution: number, units: string | undefined): number | undefined =>
  likelyDensity(units === 'PixelsPerInch' ? resolution : units === 'PixelsPerCentimeter' ? resolution * 2.54 : 0);

/** @param density pixels per inch, as a file states it @returns undefined where it is unlikely */
export const likelyDensity = (density: number): number | undefined => (density >= 36 && density <= 1200 ? density : undefined);

/** With what the judge has found, and the inspection has not: how a PNG lies, and how deep a HEIC or AVIF is. */
export function framesOf(facts: Facts): readonly Frame[] {
  const frames = (facts['frames'] as readonly Frame[] | undefined) ?? [];
  const orientation = orientationOf(facts);
  const depth = facts['depth'] as number | undefined;
  return frames.map((frame) => ({
    ...frame,
    ...(orientation === undefined ? {} : { upright: orientation === 1, onItsSide: orientation >= 5 }),
    ...(depth === undefined ? {} : { shallow: depth <= 8 }),
  }));
}

/** @returns its sides as it is shown, px @throws Failure `input_limit` */
export function boundedSides({ facts }: { readonly facts: Facts }, maxPixels: number = MAX_PHOTO_PIXELS) {
  const frames = framesOf(facts);
  const pixels = Math.max(0, ...frames.map(({ width, height }) => width * height));
  if (pixels > maxPixels) throw inputLimit('pixels', maxPixels, pixels);
  const { width, height, onItsSide } = frames[0] ?? { width: 1, height: 1, onItsSide: false };
  return onItsSide ? { width: height, height: width } : { width, height };
}
