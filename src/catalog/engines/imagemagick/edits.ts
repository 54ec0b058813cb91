/** Image edits in their fixed order (orient, rotate, crop, resize), as ImageMagick arguments, with the resulting size. */
import { inputLimit } from '../../../errors.ts';
import type { Options } from '../../options/options.ts';
import type { Frame } from './inspect.ts';

/** The longest derived side, px: the limit of WebP and most decoders. */
const MAX_SIDE = 16_383;

interface Edited {
  readonly args: readonly string[];
  readonly width: number;
  readonly height: number;
}

/** @throws Failure `input_limit` for a crop outside the picture or a derived side outside 1 to 16383 px */
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
  if (x + width > size.width || width < 1) throw inputLimit('right edge of the crop', size.width, x + width);
  if (y + height > size.height || height < 1) throw inputLimit('lower edge of the crop', size.height, y + height);
  return { args: ['-crop', `${width}x${height}+${x}+${y}`, '+repage'], width, height };
}

function resize(size: Edited, { img_resize_w: w, img_resize_h: h }: Options): Edited {
  if (w === undefined && h === undefined) return { ...size, args: [] };
  const width = w ?? derived(((h ?? 0) * size.width) / size.height);
  const height = h ?? derived(((w ?? 0) * size.height) / size.width);
  return { args: ['-resize', `${width}x${height}!`], width, height };
}

function derived(side: number): number {
  const pixels = Math.round(side);
  if (pixels < 1 || pixels > MAX_SIDE) throw inputLimit('side in pixels', MAX_SIDE, pixels);
  return pixels;
}
