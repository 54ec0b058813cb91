/** What is asked of libvips for one picture, why that is refused, and the bounds. */
import type { OptionMisfit } from '../../../../errors.ts';
import type { ProgramAnswer } from '../../../engine.ts';
import { saysOutOfMemory } from '../../../planning/out-of-memory.ts';

/** Paths are absolute. Sides and offsets in px, after orientation by EXIF and rotation. */
export interface ImageRequest {
  readonly input: string;
  /** Format of the input, detected by our own sniffing: no other decoder is tried. */
  readonly source: string;
  /** Path of the result. A source of several pages gives `page-0001`, `page-0002` … beside it instead. */
  readonly output: string;
  readonly target: string;
  readonly rotate?: '90' | '180' | '270' | 'flip-h' | 'flip-v' | undefined;
  readonly crop?: { readonly x: number; readonly y: number; readonly w?: number | undefined; readonly h?: number | undefined } | undefined;
  readonly resize?: { readonly w?: number | undefined; readonly h?: number | undefined } | undefined;
  /** How to fit the picture into both sides of `resize`; unset: stretched. */
  readonly fit?: 'cover' | 'contain' | undefined;
  readonly grayscale?: boolean | undefined;
  /** Standard deviation, px. */
  readonly blur?: number | undefined;
  readonly watermark?: TextMark | undefined;
  /** 1 to 100. */
  readonly quality: number;
  /** As few bytes as the quality needs: fewer colours in a PNG or GIF, slower encoders in others. */
  readonly compress?: boolean | undefined;
  /** `#rrggbb`, under flattened alpha. */
  readonly background: string;
  readonly strip: boolean;
  /** A JPEG that carries what the source says in EXIF and IPTC, where libvips does not read it there. */
  readonly said?: string | undefined;
  /** The file may end before the picture does. */
  readonly cut?: boolean | undefined;
  /** Pages of a TIFF, from 1; unset: all. */
  readonly pages?: readonly (readonly [number, number])[] | undefined;
  /** Bands that are its colour, where others follow that are neither that nor opacity; unset: the file says what each is. */
  readonly colours?: number | undefined;
  /** As EXIF says it, where libvips does not read that. */
  readonly orientation?: number | undefined;
  /** The power by which light became samples, where libvips does not read that. */
  readonly gamma?: number | undefined;
  /** Its XMP announces what the result does not have. */
  readonly wordless?: boolean | undefined;
  /** What the conversion may have, bytes; unset: whatever it takes. */
  readonly memoryBytes?: number | undefined;
  /** Colours at half the resolution, for which an encoder takes less memory. */
  readonly halved?: boolean | undefined;
}

export interface TextMark {
  /** Literal, no markup. */
  readonly text: string;
  /** One of nine places: `top-left`, `top` … `center` … `bottom-right`. */
  readonly position: string;
  /** 0 to 100. */
  readonly opacity: number;
  /** % of the shorter side. */
  readonly size: number;
  /** `#rrggbb` */
  readonly color: string;
}

export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

/** Where each page is written. @param output the path for a single one */
export function pagesAt(output: string, count: number): readonly string[] {
  if (count === 1) return [output];
  const [folder, extension] = [output.slice(0, output.lastIndexOf('/')), output.slice(output.lastIndexOf('.'))];
  return Array.from({ length: count }, (_, place) => `${folder}/page-${String(place + 1).padStart(4, '0')}${extension}`);
}

/** Ends the conversation. */
export class PictureRefusal extends Error {
  readonly answer: ProgramAnswer;
  constructor(reason: NonNullable<ProgramAnswer['reason']>, words: string, more: Pick<ProgramAnswer, 'details' | 'says' | 'misfit'> = {}) {
    super(words);
    this.answer = { ok: false, reason, words, ...more };
  }
}

/** @throws PictureRefusal `input_limit` */
export const boundPicture = (limit: string, max: number, received: number, says?: string): void => {
  if (received <= max) return;
  throw new PictureRefusal('input_limit', `${limit} ${received}, at most ${max}`, {
    details: { limit, max, received },
    ...(says === undefined ? {} : { says }),
  });
};

export const outside = (misfit: OptionMisfit): PictureRefusal => new PictureRefusal('invalid_option', misfit.says, { misfit });

/** What libvips says of good TIFFs that it does not read, where the file does not say itself what it is (`tiff/tags.ts`). */
const RARE_TIFF =
  /samples_per_pixel not a whole number|samples out of range|tiled separate planes not supported|bad labq format|unsupported tiff image type|no known route from 'multiband'|compression support is not configured|Compression scheme \d{1,5} \w+ decoding is not implemented/i;
export const RARE_TIFF_SAYS =
  'This kind of TIFF (its number of bits, its colours, its compression, or planes in tiles) is not supported: save it as RGB or grey of 8 or 16 bits, with LZW or Deflate.';

/** Recognises libvips' errors about exhausted resources; any other error is about the picture. */
export function refusalFor(words: string): PictureRefusal {
  if (saysOutOfMemory(words)) return new PictureRefusal('memory', words);
  if (/no space left|file too large|disk quota/i.test(words)) return new PictureRefusal('output_limit', words);
  if (/unsupported JPEG/i.test(words)) return new PictureRefusal('unsupported_variant', words);
  if (RARE_TIFF.test(words)) return new PictureRefusal('unsupported_variant', words, { says: RARE_TIFF_SAYS });
  return new PictureRefusal('corrupt_input', words);
}
