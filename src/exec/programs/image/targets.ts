/** How each format is encoded, and what it supports. */
import type { Sharp } from './libvips.ts';
import type { ImageRequest } from './request.ts';

export interface Timing {
  /** ms for each frame. */
  readonly delay?: number[];
  readonly loop?: number;
}

export interface Target {
  readonly encode: (picture: Sharp, request: ImageRequest, animation: Timing) => Sharp;
  /** px. JPEG and GIF have 16 bits for a side, WebP 14 (RFC 9649), libaom takes 16 bits. */
  readonly longest: number;
  readonly alpha: boolean;
  readonly sixteenBit: boolean;
  readonly animated: boolean;
  /** Makes RGBA pixels, in place, easier to compress: for formats without a scale of quality. */
  readonly coarsen?: (pixels: Buffer, quality: number) => void;
}

export const TARGETS: Readonly<Record<string, Target>> = {
  png: { encode: png, longest: 1_000_000, alpha: true, sixteenBit: true, animated: false },
  jpg: {
    encode: (picture, { quality, compress = false }) => picture.jpeg({ quality, mozjpeg: compress }),
    longest: 65_535,
    alpha: false,
    sixteenBit: false,
    animated: false,
  },
  webp: {
    encode: (picture, { quality, compress }, animation) => picture.webp({ quality, effort: compress ? 5 : 3, ...animation }),
    longest: 16_383,
    alpha: true,
    sixteenBit: false,
    animated: true,
  },
  gif: { encode: gif, longest: 65_535, alpha: true, sixteenBit: false, animated: true, coarsen: posterise },
  // sharp's default is JPEG inside TIFF, which is lossy.
  tiff: {
    encode: (picture) => picture.tiff({ compression: 'lzw', predictor: 'horizontal' }),
    longest: 1_000_000,
    alpha: true,
    sixteenBit: true,
    animated: false,
  },
  avif: {
    encode: (picture, { quality }) => picture.avif({ quality, effort: 2 }),
    longest: 65_535,
    alpha: true,
    sixteenBit: false,
    animated: false,
  },
};

/** With `compress` below the best quality, a PNG gets a palette of as many colours, up to 256, as the quality needs (libimagequant). */
function png(picture: Sharp, { quality, compress }: ImageRequest): Sharp {
  if (!compress) return picture.png();
  // `effort` would turn on a palette too.
  return quality < 100 ? picture.png({ palette: true, quality, effort: 8 }) : picture.png({ compressionLevel: 9, adaptiveFiltering: true });
}

/** With `compress`, pixels that hardly changed since the previous frame are left out (cgif), and nothing is dithered, since LZW compresses noise badly. */
function gif(picture: Sharp, { quality, compress, fit, ...request }: ImageRequest, animation: Timing): Sharp {
  if (compress && quality < 100)
    return picture.gif({ effort: 5, reuse: false, dither: 0, interFrameMaxError: (32 * (100 - quality)) / 100, ...animation });
  // The source's palette lacks the colours that these edits create.
  const painted = request.grayscale || request.blur !== undefined || request.watermark !== undefined;
  // Above 3, a large frame takes three times as long for one byte in a hundred.
  return picture.gif({ effort: painted || fit ? 3 : 5, ...(painted ? { reuse: false, interPaletteMaxError: 0 } : {}), ...animation });
}

/** Rounds each channel to levels up to 46 of 255 apart: fewer colours and longer runs. The first steps down save most. */
function posterise(pixels: Buffer, quality: number): void {
  const step = 1 + 45 * (1 - quality / 100) ** 0.6;
  const levels = Uint8Array.from({ length: 256 }, (_, value) => Math.min(255, Math.round(Math.round(value / step) * step)));
  for (let at = 0; at < pixels.length; at += 4) for (let band = at; band < at + 3; band++) pixels[band] = levels[pixels[band] ?? 0] ?? 0;
}
