/** What ImageMagick is asked about a picture before anything is decoded, and how its answer is read. */
import { conversionFailed, inputLimit } from '../../../errors.ts';
import type { Binary, Facts, ProcessStep } from '../../engine.ts';
import { MAX_FRAMES } from '../../planning/frames.ts';
import { READERS } from './coders.ts';

/** Of one frame. */
const MAX_PIXELS = 100_000_000;

/**
 * ImageMagick takes the smaller of these and of the machine's policy.xml. Width and height in pixels; beyond `memory` it works in a file, up to `disk`.
 * (imagemagick.org/script/resources.php)
 */
export const LIMITS = [
  ['width', '32KP'],
  ['height', '32KP'],
  ['area', '128MP'],
  ['memory', '512MiB'],
  ['map', '1GiB'],
  ['disk', '4GiB'],
  ['thread', '2'],
].flatMap(([resource, most]) => ['-limit', `${resource}`, `${most}`]);

/** Not the name `convert` alone: that may be another program's. */
export const CONVERT: Binary = {
  at: ['/usr/bin/convert-im6.q16', '/usr/bin/convert-im7.q16', '/usr/bin/magick'],
  version: { args: ['-version'], pattern: /ImageMagick (\d+\.\d+\.\d+)/ },
};

export interface Frame {
  /** Pixels as stored: orientation is not applied yet. */
  readonly width: number;
  readonly height: number;
  /** It may be transparent in places. */
  readonly alpha: boolean;
  /** It is shown as it is stored: no EXIF orientation turns or mirrors it. */
  readonly upright: boolean;
  /** The EXIF orientation turns the picture by a quarter. */
  readonly onItsSide: boolean;
  readonly profile: boolean;
  /** Pixels an inch; undefined where the file does not say, or nothing likely. */
  readonly density: number | undefined;
}

/** Needs the binary `convert`. */
export const pingStep = (input: string, { source }: { readonly source: string }): ProcessStep => ({
  run: 'convert',
  // Of a PNG beyond the limits it says nothing unless its exceptions are logged.
  args: [
    ...LIMITS,
    '-debug',
    'exception',
    '-ping',
    `${READERS[source]?.coder}:${input}`,
    '-format',
    '%w %h %x %U %A %[orientation] %[profile:icc]\n',
    'info:',
  ],
});

/** @throws Failure `CONVERSION_FAILED` where a bound is broken or no frame is found */
export function readPing(stdout: string): Facts {
  const frames = stdout.split('\n').flatMap((line): Frame[] => {
    if (line === '') return [];
    const [width = '', height = '', resolution, units, alpha, orientation, profile = ''] = line.split(' ', 7);
    if (!isNumber(width) || !isNumber(height) || !resolution || !units || !alpha || orientation === undefined) return [];
    return [
      {
        width: Number(width),
        height: Number(height),
        alpha: !['False', 'Undefined', 'Off'].includes(alpha),
        upright: ['', 'Undefined', 'TopLeft'].includes(orientation),
        onItsSide: ['LeftTop', 'RightTop', 'RightBottom', 'LeftBottom'].includes(orientation),
        profile: profile !== '',
        density: dotsPerInch(Number(resolution), units),
      },
    ];
  });
  if (frames.length === 0) throw conversionFailed('corrupt_input');
  if (frames.length > MAX_FRAMES) throw inputLimit('frames', MAX_FRAMES, frames.length);
  const largest = Math.max(...frames.map(({ width, height }) => width * height));
  if (largest > MAX_PIXELS) throw inputLimit('pixels', MAX_PIXELS, largest);
  if (largest < 1) throw conversionFailed('corrupt_input');
  return { frames };
}

const isNumber = (text: string): boolean => /^\d+$/.test(text);

function dotsPerInch(resolution: number, units: string | undefined): number | undefined {
  const density = units === 'PixelsPerInch' ? resolution : units === 'PixelsPerCentimeter' ? resolution * 2.54 : 0;
  return density >= 36 && density <= 1200 ? density : undefined;
}

export const framesOf = (facts: Facts): readonly Frame[] => (facts['frames'] as readonly Frame[] | undefined) ?? [];
