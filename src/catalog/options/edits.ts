/** Edits that only tools apply to a picture: options for engines and routes that a conversion's form does not have. And what engines say of a crop. */
import type { OptionMisfit } from '../../errors.ts';

/** The nine positions of a watermark, with a margin to the edges. */
export const POSITIONS = ['top-left', 'top', 'top-right', 'left', 'center', 'right', 'bottom-left', 'bottom', 'bottom-right'] as const;

export interface Watermark {
  /** Literal, no markup; a line feed begins a line. */
  readonly text: string;
  readonly position: (typeof POSITIONS)[number];
  /** 0 to 100. */
  readonly opacity: number;
  /** Size of the letters, % of the picture's shorter side. */
  readonly size: number;
  /** `#rrggbb` */
  readonly color: string;
}

export interface Edits {
  readonly grayscale?: true | undefined;
  /** Standard deviation of a Gaussian, px, as in CSS (Filter Effects 1, blur()). */
  readonly blur?: number | undefined;
  readonly watermark?: Watermark | undefined;
  /** 0 to 100: as few bytes as this quality needs, also in formats that are otherwise lossless. */
  readonly compress?: number | undefined;
  /** What reads the text of a picture; unset: the best that is installed for the language. */
  readonly recogniser?: 'tesseract' | 'ppocr-v4' | undefined;
}

export const editNames = ['grayscale', 'blur', 'watermark', 'compress', 'recogniser'] as const satisfies readonly (keyof Edits)[];
/** The edits that every format supports. */
export const SHOWN = ['grayscale', 'blur', 'watermark'] as const satisfies readonly (keyof Edits)[];

/** What is wrong with a crop along one axis. @param has px of the picture there @param from where it begins @param length undefined: to the picture's end */
export function cropMisfit(axis: 'x' | 'y', has: number, from: number, length: number | undefined): OptionMisfit | undefined {
  const lines = axis === 'x' ? 'columns' : 'rows';
  const line = lines.slice(0, -1);
  if (from >= has)
    return {
      option: `img_crop_${axis}`,
      received: `${from}`,
      allowed: `0 to ${has - 1} px for this picture`,
      says: `The picture has ${has} ${lines}; the crop starts after ${line} ${from}.`,
    };
  if (length !== undefined && from + length > has)
    return {
      option: axis === 'x' ? 'img_crop_w' : 'img_crop_h',
      received: `${length}`,
      allowed: `1 to ${has - from} px from there on in this picture`,
      says: `The picture has ${has} ${lines}; the crop ends at ${line} ${from + length}.`,
    };
  return undefined;
}
