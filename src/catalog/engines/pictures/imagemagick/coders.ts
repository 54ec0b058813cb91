/**
 * ImageMagick's names for the formats, and what each supports. The decoder is always set: ImageMagick's own detection also accepts scripts and
 * starts delegates.
 */

interface Reader {
  readonly coder: string;
  /**
   * Which of several pictures in a file to convert. `first`: the others are smaller copies or layers. `largest`: they are sizes of one icon.
   * `pages`: each is a separate picture. `frames`: they form an animation.
   */
  readonly takes: 'first' | 'largest' | 'pages' | 'frames';
  /** Arguments that correct how the decoder interprets the pixels. */
  readonly means?: readonly string[];
  /** The inspection does not see its colour profile, only decoding does. */
  readonly hidesProfile?: true;
}

interface Writer {
  readonly coder: string;
  /** Keeps transparency; otherwise the picture is flattened onto the background colour. */
  readonly alpha: boolean;
  /** Arguments just before the output. */
  readonly encode?: readonly string[];
  readonly quality?: true;
  /** With fewer bits a sample it writes other opacities, or no picture. */
  readonly eightBits?: true;
  readonly many?: 'pages' | 'frames';
  /** px, where that is less than ImageMagick opens. */
  readonly longest?: number;
  readonly rank: number;
  readonly loses?: readonly string[];
}

const first = (coder: string): Reader => ({ coder, takes: 'first' });

export const READERS: Readonly<Record<string, Reader>> = {
  png: first('png'),
  jpg: first('jpeg'),
  webp: { coder: 'webp', takes: 'frames' },
  gif: { coder: 'gif', takes: 'frames' },
  tiff: { coder: 'tiff', takes: 'pages' },
  bmp: first('bmp'),
  avif: first('avif'),
  heic: first('heic'),
  jp2: first('jp2'),
  ico: { coder: 'ico', takes: 'largest' },
  cur: { coder: 'cur', takes: 'largest' },
  // Most are stored from the bottom row up. Version 6 reports that as an orientation, version 7 puts the rows upright itself.
  tga: first('tga'),
  ppm: first('ppm'),
  pgm: first('pgm'),
  pbm: first('pbm'),
  pam: first('pam'),
  pcx: first('pcx'),
  // The first picture of a PSD is the flattened image, the others are its layers.
  psd: { ...first('psd'), hidesProfile: true },
  xbm: first('xbm'),
  xpm: first('xpm'),
  hdr: first('hdr'),
  sgi: first('sgi'),
  ras: first('sun'),
  // Version 6 takes every DPX for linear light; untagged files of cameras and FFmpeg are not.
  dpx: { ...first('dpx'), means: ['-set', 'colorspace', 'sRGB'] },
  pict: first('pict'),
  jng: first('jng'),
  dcx: { coder: 'dcx', takes: 'pages' },
  cin: first('cin'),
  jbig: first('jbig'),
  wbmp: first('wbmp'),
  xwd: first('xwd'),
  viff: first('viff'),
  vicar: first('vicar'),
  pfm: first('pfm'),
  pgx: first('pgx'),
  pdb: first('pdb'),
  ipl: first('ipl'),
  mtv: first('mtv'),
  aai: first('aai'),
  avs: first('avs'),
  art: first('art'),
  psb: { ...first('psb'), hidesProfile: true },
  j2k: first('j2k'),
};

/** Photoshop's files with a palette are read by few: version 6 cannot read its own, and version 7 writes them for pictures of few colours. */
const NO_PALETTE = ['-evaluate', 'add', '0'] as const;
/** Dithers to pure black and white, the colours of this pattern: `-monochrome` first picks two greys and loses shades. */
const BILEVEL = ['-colorspace', 'Gray', '-dither', 'FloydSteinberg', '-remap', 'pattern:gray50'] as const;
const BLACK_AND_WHITE = { alpha: false, rank: 70, encode: BILEVEL, loses: ['colour', 'shades of grey'] } as const;
const GRAY = { encode: ['-colorspace', 'Gray'], loses: ['colour'] } as const;

export const WRITERS: Readonly<Record<string, Writer>> = {
  png: { coder: 'png', alpha: true, rank: 70, encode: ['-define', 'png:exclude-chunk=date,tIME'] },
  jpg: { coder: 'jpeg', alpha: false, rank: 70, quality: true },
  webp: { coder: 'webp', alpha: true, rank: 65, quality: true, many: 'frames' },
  gif: { coder: 'gif', alpha: true, rank: 55, many: 'frames', loses: ['colours beyond 256'] },
  tiff: { coder: 'tiff', alpha: true, rank: 70, many: 'pages', encode: ['-compress', 'LZW'] },
  jp2: { coder: 'jp2', alpha: true, rank: 70, quality: true, eightBits: true },
  // Every program reads version 3; later ones have transparency that most programs ignore.
  bmp: { coder: 'bmp3', alpha: false, rank: 70 },
  ico: { coder: 'ico', alpha: true, rank: 70 },
  tga: { coder: 'tga', alpha: true, rank: 70 },
  ppm: { coder: 'ppm', alpha: false, rank: 70 },
  pgm: { coder: 'pgm', alpha: false, rank: 70, ...GRAY },
  pbm: { coder: 'pbm', alpha: false, rank: 70, encode: BILEVEL, loses: ['colour', 'shades of grey'] },
  pam: { coder: 'pam', alpha: true, rank: 70 },
  // Readers disagree about palettes of two colours.
  pcx: { coder: 'pcx', alpha: false, rank: 70, encode: ['-type', 'TrueColor'] },
  // Adobe's file format specification: 30,000 in a PSD.
  psd: {
    coder: 'psd',
    alpha: true,
    longest: 30_000,
    rank: 60,
    loses: ['layers'],
    encode: ['-compress', 'None', ...NO_PALETTE],
    eightBits: true,
  },
  xbm: { coder: 'xbm', alpha: false, rank: 70, encode: BILEVEL, loses: ['colour', 'shades of grey'] },
  xpm: { coder: 'xpm', alpha: true, rank: 70, encode: ['-depth', '8'] },
  dds: { coder: 'dds', alpha: true, rank: 60, encode: ['-define', 'dds:mipmaps=0'], loses: ['fine shades (block compression)'] },
  // Radiance pictures are linear; by default, version 6 writes sRGB values and an unusual GAMMA line.
  hdr: { coder: 'hdr', alpha: false, rank: 60, encode: ['-colorspace', 'RGB'] },
  sgi: { coder: 'sgi', alpha: true, rank: 70 },
  ras: { coder: 'sun', alpha: false, rank: 70 },
  dpx: { coder: 'dpx', alpha: false, rank: 60, encode: ['-type', 'TrueColor', '-depth', '10'] },
  // A third axis, for colour, is rare, and many readers refuse it.
  fits: { coder: 'fits', alpha: false, rank: 60, ...GRAY },
  mng: { coder: 'mng', alpha: true, rank: 60, many: 'frames' },
  jng: { coder: 'jng', alpha: true, rank: 60, quality: true },
  dcx: { coder: 'dcx', alpha: false, rank: 60, many: 'pages', encode: ['-type', 'TrueColor'] },
  cin: { coder: 'cin', alpha: false, rank: 60 },
  // Version 7 writes black for white otherwise.
  cal: { coder: 'cals', ...BLACK_AND_WHITE, encode: [...BILEVEL, '-define', 'tiff:photometric=min-is-white'] },
  jbig: { coder: 'jbig', ...BLACK_AND_WHITE },
  wbmp: { coder: 'wbmp', ...BLACK_AND_WHITE },
  art: { coder: 'art', ...BLACK_AND_WHITE },
  xwd: { coder: 'xwd', alpha: false, rank: 60 },
  viff: { coder: 'viff', alpha: true, rank: 60 },
  vicar: { coder: 'vicar', alpha: false, rank: 60, ...GRAY, encode: [...GRAY.encode, '-depth', '8'] },
  pfm: { coder: 'pfm', alpha: false, rank: 60 },
  pgx: { coder: 'pgx', alpha: false, rank: 60, ...GRAY, encode: [...GRAY.encode, '-depth', '8'] },
  ipl: { coder: 'ipl', alpha: false, rank: 60, encode: ['-depth', '8'] },
  mtv: { coder: 'mtv', alpha: false, rank: 60 },
  aai: { coder: 'aai', alpha: true, rank: 60 },
  avs: { coder: 'avs', alpha: true, rank: 60 },
  psb: { coder: 'psb', alpha: true, rank: 60, loses: ['layers'], encode: ['-compress', 'None', ...NO_PALETTE], eightBits: true },
  j2k: { coder: 'j2k', alpha: false, rank: 60, quality: true, eightBits: true },
};
