/** What libtiff's tiffinfo says of each page of a TIFF, and which decoders read that page as it is meant. */
import { conversionFailed } from '../../../../errors.ts';
import type { Facts, ProcessStep } from '../../../engine.ts';
import { type Frame, likelyDensity } from '../imagemagick/inspect.ts';

export type Decoder = 'libvips' | 'imagemagick';

export interface TiffPage extends Frame {
  /** What refuses this kind of page, or makes another picture of it. */
  readonly eludes: readonly Decoder[];
  /** Samples of a pixel that are its colour, where others follow of which the file does not say what they are. */
  readonly colours?: number;
  /** Its samples are Lab or YCbCr. */
  readonly derived: boolean;
}

/** Needs the binary `tiffinfo`. */
export const tagsStep = (input: string): ProcessStep => ({ run: 'tiffinfo', args: [input], succeeds: [0, 1] });

export const tiffPages = (facts: Facts): readonly TiffPage[] => (facts['frames'] as readonly TiffPage[] | undefined) ?? [];

/** libvips and ImageMagick each have their own bounds on them. @throws Failure `corrupt_input` if there is no page */
export function readTags(stdout: string): Facts {
  const pages = stdout.split(/^=== TIFF directory \d+ ===$/m).slice(1);
  if (pages.length === 0) throw conversionFailed('corrupt_input');
  return { frames: pages.map(pageOf) };
}

function pageOf(text: string): TiffPage {
  const lines = linesOf(text);
  const said = (name: string): string => lines.get(name) ?? '';
  const tags: Tags = {
    bits: Number(said('Bits/Sample') || 1),
    samples: Number(said('Samples/Pixel') || 1),
    format: said('Sample Format'),
    compression: said('Compression Scheme'),
    photometric: said('Photometric Interpretation'),
    subsampling: said('YCbCr Subsampling') || '2, 2',
    inPlanes: said('Planar Configuration') === 'separate image planes',
    inTiles: lines.has('Tile Width'),
  };
  const [width, height] = said('Image Width').split(' Image Length: ');
  const orientation = said('Orientation');
  const extra = said('Extra Samples')
    .replace(/^\d+<|>$/g, '')
    .split(', ');
  const colours = COLOURS[tags.photometric];
  const unsaid = colours !== undefined && tags.samples > colours && extra.every((each) => each === 'unspecified' || each === '');
  return {
    width: Number(width) || 0,
    height: Number(height) || 0,
    alpha: extra.some((each) => /^(?:un)?assoc-alpha$/.test(each)),
    upright: ['', 'row 0 top, col 0 lhs'].includes(orientation),
    onItsSide: /^row 0 [lr]hs/.test(orientation),
    profile: said('ICC Profile') !== '',
    deeper: tags.bits > 16,
    shallow: tags.bits <= 8,
    density: densityIn(said('Resolution')),
    eludes: (Object.keys(ELUDES) as Decoder[]).filter((decoder) => ELUDES[decoder].some((does) => does(tags))),
    derived: isLab(tags) || tags.photometric === 'YCbCr',
    ...(unsaid && { colours }),
  };
}

/** What stands before and after the first colon of each line; of two the first, as directories within follow their own. */
function linesOf(text: string): ReadonlyMap<string, string> {
  const lines = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [name = '', ...value] = line.split(': ');
    if (value.length > 0 && !lines.has(name.trim())) lines.set(name.trim(), value.join(': '));
  }
  return lines;
}

/** As tiffinfo prints them; TIFF 6.0 explains each. */
interface Tags {
  readonly bits: number;
  readonly samples: number;
  readonly format: string;
  readonly compression: string;
  readonly photometric: string;
  readonly subsampling: string;
  readonly inPlanes: boolean;
  readonly inTiles: boolean;
}

/** Samples of a pixel, by photometric interpretation. */
const COLOURS: Readonly<Record<string, number>> = { 'RGB color': 3, 'min-is-black': 1, 'min-is-white': 1 };

/** JPEG has its own YCbCr. */
const isPlainYCbCr = ({ photometric, compression }: Tags): boolean => photometric === 'YCbCr' && !/JPEG/.test(compression);
const isWhole = ({ subsampling }: Tags): boolean => subsampling === '1, 1';
const isLab = ({ photometric }: Tags): boolean => /L\*a\*b\*/.test(photometric);
const isFloat = ({ format }: Tags): boolean => format === 'IEEE floating point';

const ELUDES: Readonly<Record<Decoder, readonly ((tags: Tags) => boolean)[]>> = {
  libvips: [
    ({ bits }) => ![1, 2, 4, 8, 16, 32, 64].includes(bits),
    ({ bits, samples }) => bits === 64 && samples > 1,
    ({ inPlanes, inTiles, samples }) => inPlanes && inTiles && samples > 1,
    (tags) => isLab(tags) && (tags.bits === 8 || tags.photometric !== 'CIE L*a*b*'),
    // It takes them for RGB.
    (tags) => isPlainYCbCr(tags) && isWhole(tags),
    // As sharp builds its libtiff.
    ({ compression }) => !/^(?:|None|LZW|AdobeDeflate|Deflate|PackBits|CCITT .*|JPEG)$/.test(compression),
  ],
  imagemagick: [
    (tags) => tags.format === 'signed integer' && !isLab(tags),
    ({ photometric }) => /^(?:ICC|ITU) L/.test(photometric),
    (tags) => isPlainYCbCr(tags) && !isWhole(tags),
    ({ bits }) => bits === 24,
    ({ bits, photometric }) => photometric === 'min-is-white' && (bits === 2 || bits === 4),
    // Measurements, of any range: it cuts what is below 0 or above 1.
    (tags) => isFloat(tags) && tags.samples === 1,
    ({ compression }) => compression === 'WEBP',
  ],
};

/** Pixels per inch; undefined where it is not said, or unlikely. */
function densityIn(resolution: string): number | undefined {
  const [, across = '', unit] = /^([\d.]+), [\d.]+ pixels\/(inch|cm)$/.exec(resolution) ?? [];
  return likelyDensity(Number(across) * (unit === 'cm' ? 2.54 : 1));
}
