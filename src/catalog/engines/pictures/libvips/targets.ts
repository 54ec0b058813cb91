/** How each format is encoded, and what it supports. */
import { WEBP_MAX_SIDE } from '../../../bounds.ts';
import type { ImageRequest } from './request.ts';
import type { Properties } from './session.ts';

export interface PictureTarget {
  /** The operation of libvips, with its properties. @param deep 16 bits a channel */
  readonly encode: (request: ImageRequest, deep: boolean) => { readonly saver: string; readonly properties: Properties };
  /** px. JPEG and GIF have 16 bits for a side, WebP 14 (RFC 9649); libvips takes 16,384 for an AVIF. */
  readonly longest: number;
  readonly alpha: boolean;
  readonly sixteenBit: boolean;
  readonly animated: boolean;
  /** Bytes that the encoder takes for each pixel, where it has the whole picture in memory several times: with all colours, and with half their resolution. */
  readonly memoryOfPixel?: { readonly whole: number; readonly halved: number };
  /** Its pixels are stored as they are. */
  readonly raw?: true;
  /** It has no scale of quality: `compress` rounds the colours, so that pixels are easier to compress. @returns the distance of two levels */
  readonly coarsen?: (quality: number) => number;
}

/** libaom 3.15 by libheif 1.23, mapped and touched or not, measured from 12 to 100 megapixels: docs/bounds.md has what others take. */
const AVIF_BYTES = { whole: 44, halved: 27 };

export const TARGETS: Readonly<Record<string, PictureTarget>> = {
  png: { encode: png, longest: 1_000_000, alpha: true, sixteenBit: true, animated: false },
  jpg: {
    encode: ({ quality, compress = false }) => ({
      saver: 'jpegsave',
      properties: { Q: quality, 'optimize-coding': true, 'subsample-mode': 'on', ...(compress && SMALLEST_JPEG) },
    }),
    longest: 65_535,
    alpha: false,
    sixteenBit: false,
    animated: false,
  },
  webp: {
    encode: ({ quality, compress }) => ({ saver: 'webpsave', properties: { Q: quality, effort: compress ? 5 : 3 } }),
    longest: WEBP_MAX_SIDE,
    alpha: true,
    sixteenBit: false,
    animated: true,
  },
  gif: {
    encode: gif,
    longest: 65_535,
    alpha: true,
    sixteenBit: false,
    animated: true,
    coarsen: (quality) => 1 + 45 * (1 - quality / 100) ** 0.6,
  },
  // 256 rows in a strip. Without a resolution here it has that of the picture.
  tiff: {
    encode: () => ({
      saver: 'tiffsave',
      properties: { compression: 'lzw', predictor: 'horizontal', 'tile-height': 256, resunit: 'inch' },
    }),
    longest: 1_000_000,
    alpha: true,
    sixteenBit: true,
    animated: false,
  },
  avif: {
    encode: ({ quality, halved = false }) => ({
      saver: 'heifsave',
      properties: { Q: quality, compression: 'av1', effort: 2, bitdepth: 8, tune: 'auto', 'subsample-mode': halved ? 'on' : 'off' },
    }),
    longest: 16_384,
    memoryOfPixel: AVIF_BYTES,
    alpha: true,
    sixteenBit: false,
    animated: false,
  },
  // All frames below each other with the time of each, of which `frames.ts` makes an APNG.
  v: { encode: () => ({ saver: 'vipssave', properties: {} }), longest: 65_535, alpha: true, sixteenBit: false, animated: true, raw: true },
  // A PNG, of which FFmpeg makes these.
  qoi: { encode: png, longest: 1_000_000, alpha: true, sixteenBit: false, animated: false },
  jls: { encode: png, longest: 65_535, alpha: false, sixteenBit: true, animated: false },
  exr: { encode: png, longest: 1_000_000, alpha: false, sixteenBit: true, animated: false },
};

/** What mozjpeg adds to libjpeg-turbo: slower, and some 5 to 15 % smaller. */
const SMALLEST_JPEG = {
  interlace: true,
  'trellis-quant': true,
  'overshoot-deringing': true,
  'optimize-scans': true,
  'quant-table': 3,
};

/** With `compress` below the best quality, a PNG gets a palette of as many colours, up to 256, as the quality needs (libimagequant). */
function png({ quality, compress }: ImageRequest, deep: boolean) {
  const bitdepth = deep ? 16 : 8;
  if (!compress) return { saver: 'pngsave', properties: { bitdepth, compression: 6, filter: 'none' } };
  if (quality === 100) return { saver: 'pngsave', properties: { bitdepth, compression: 9, filter: 'all' } };
  return { saver: 'pngsave', properties: { bitdepth, compression: 6, filter: 'none', palette: true, Q: quality, effort: 8, dither: 1 } };
}

/** With `compress`, pixels that hardly changed since the previous frame are left out (cgif), and nothing is dithered, since LZW compresses noise badly. */
function gif({ quality, compress, fit, ...request }: ImageRequest) {
  if (compress && quality < 100)
    return { saver: 'gifsave', properties: { effort: 5, reuse: false, dither: 0, 'interframe-maxerror': (32 * (100 - quality)) / 100 } };
  // The source's palette lacks the colours that these edits create.
  const painted = request.grayscale || request.blur !== undefined || request.watermark !== undefined;
  // Above 3, a large frame takes three times as long for one byte in a hundred.
  return {
    saver: 'gifsave',
    properties: { effort: painted || fit ? 3 : 5, reuse: !painted, dither: 1, ...(painted && { 'interpalette-maxerror': 0 }) },
  };
}
