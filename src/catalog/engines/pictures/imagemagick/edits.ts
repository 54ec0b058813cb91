/** Image edits in their fixed order (orient, rotate, crop, resize), as ImageMagick arguments, with the resulting size. */
import { belowLimit, inputLimit, misfit } from '../../../../errors.ts';
import { MAX_SIDE } from '../../../bounds.ts';
import { cropMisfit } from '../../../options/edits.ts';
import type { Options } from '../../../options/options.ts';
import type { Frame } from './inspect.ts';

interface Edited {
  readonly args: readonly string[];
  readonly width: number;
  readonly height: number;
}

/** @throws Failure `INVALID_OPTION` for a crop outside the picture, `input_limit` for a derived side outside 1 to 16383 px */
export function edits(frame: Frame, options: Options): Edited {
  const steps = [orient, rotate, crop, resize] as const;
  return steps.reduce<Edited>(
    (size, step) => {
      const next = step(size, options, frame);
      return { ...next, args: [...size.args, ...next.args] };
    },
    { args: [], width: frame.width, height: frame.height },
  );
}

const turned = ({ width, height }: Edited, args: readonly string[]): Edited => ({ args, width: height, height: width });

const orient = (size: Edited, _options: Options, { onItsSide }: Frame): Edited =>
  onItsSide ? turned(size, ['-auto-orient']) : { ...size, args: ['-auto-orient'] };

function rotate(size: Edited, { img_rotate: turn }: Options): Edited {
  switch (turn) {
    case undefined:
      return { ...size, args: [] };
    case 'flip-h':
      return { ...size, args: ['-flop'] };
    case 'flip-v':
      return { ...size, args: ['-flip'] };
    case '180':
      return { ...size, args: ['-rotate', '180'] };
    case '90':
    case '270':
      return turned(size, ['-rotate', turn, '+repage']);
  }
}

function crop(size: Edited, options: Options): Edited {
  const { img_crop_x: x = 0, img_crop_y: y = 0 } = options;
  const { img_crop_w: width = size.width - x, img_crop_h: height = size.height - y } = options;
  if (x === 0 && y === 0 && width === size.width && height === size.height) return { ...size, args: [] };
  const wrong = cropMisfit('x', size.width, x, options.img_crop_w) ?? cropMisfit('y', size.height, y, options.img_crop_h);
  if (wrong !== undefined) throw misfit(wrong);
  return { args: ['-crop', `${width}x${height}+${x}+${y}`, '+repage'], width, height };
}

function resize(size: Edited, { img_resize_w: w, img_resize_h: h, fit = 'fill' }: Options): Edited {
  if (w === undefined && h === undefined) return { ...size, args: [] };
  if (w !== undefined && h !== undefined && fit !== 'fill')
    return {
      args: [...FITTED[fit](`${w}x${h}`), '-gravity', 'center', '-extent', `${w}x${h}`, '+gravity', '+repage'],
      width: w,
      height: h,
    };
  const width = w ?? derived('wide', ((h ?? 0) * size.width) / size.height, size);
  const height = h ?? derived('high', ((w ?? 0) * size.height) / size.width, size);
  return { args: ['-resize', `${width}x${height}!`], width, height };
}

/** Cut to fill both sides, or whole with bars: clear ones, which a target without transparency lays on its background. */
const FITTED = {
  cover: (sides: string) => ['-resize', `${sides}^`],
  contain: (sides: string) => ['-resize', sides, '-alpha', 'set', '-background', 'none'],
} as const;

/** @returns the rounded side, px @throws Failure `input_limit` */
function derived(direction: 'wide' | 'high', side: number, { width, height }: Pick<Edited, 'width' | 'height'>): number {
  const pixels = Math.round(side);
  const says = `The picture has ${width} × ${height} pixels; in this size it would be ${pixels} pixels ${direction}`;
  if (pixels < 1) throw belowLimit('side in pixels', 1, pixels, `${says}, and the minimum is 1.`);
  if (pixels > MAX_SIDE) throw inputLimit('side in pixels', MAX_SIDE, pixels, `${says}, and the maximum is ${MAX_SIDE}.`);
  return pixels;
}
