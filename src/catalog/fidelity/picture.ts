/** What a picture has that its result should have too, and which formats can contain it. */
import type { Options } from '../options/options.ts';
import type { PictureHeader } from '../planning/headers/picture.ts';
import type { FidelityProperty } from './fidelity.ts';

/** Bits a channel, at most: JPEG and WebP have 8 (RFC 9649), AV1 12, HEVC as our encoders write it 10. */
const DEEPEST: Readonly<Record<string, number>> = { png: 16, apng: 16, tiff: 16, avif: 12, heic: 10 };
const ANIMATED = new Set(['gif', 'apng', 'webp']);
/** TIFF has pages instead of frames. */
const SEVERAL = new Set([...ANIMATED, 'tiff']);
const TRANSPARENT = new Set(['png', 'apng', 'webp', 'gif', 'tiff', 'avif', 'heic']);
const WITH_EXIF = new Set(['jpg', 'png', 'webp', 'tiff', 'avif', 'heic']);
const WITH_IPTC = new Set(['jpg', 'tiff']);
/** Some have room for it only in EXIF. */
const WITH_DENSITY = WITH_EXIF;

/** From one rounding to another. */
const DENSITY_ROUNDS = 1;
/** GIF counts hundredths of a second: each frame may be off by half of one, ms. */
const DELAY_ROUNDS_MS = 5;

type PictureProperty = FidelityProperty<PictureHeader, Options>;

const stripped = ({ strip_metadata: strip }: Options): boolean => strip === true;
/** A property that a picture has or lacks. */
const presence = (
  name: string,
  has: (header: PictureHeader) => boolean,
  fits: PictureProperty['fits'],
  asked: PictureProperty['asked'] = stripped,
): PictureProperty => ({ name, show: (header) => (has(header) ? 'present' : undefined), asked, fits });

const ofOnePicture: readonly PictureProperty[] = [
  {
    name: 'size',
    show: ({ width, height }) => `${width} × ${height} px`,
    asked: (options) =>
      [
        options.img_resize_w,
        options.img_resize_h,
        options.img_crop_w,
        options.img_crop_h,
        options.img_crop_x,
        options.img_crop_y,
        options.fit,
      ].some((value) => value !== undefined) || ['90', '270'].includes(options.img_rotate ?? ''),
    fits: () => true,
  },
  {
    name: 'depth',
    show: ({ depth }) => `${depth} bits a channel`,
    // More bits than the source has lose nothing.
    same: (source, result) => result.depth >= source.depth,
    asked: ({ compress, watermark }) => compress !== undefined || watermark !== undefined,
    fits: (format, { depth }) => depth <= (DEEPEST[format] ?? 8),
  },
  {
    name: 'colours',
    show: ({ colours }) => (colours === 'palette' ? 'rgb' : colours),
    // A grey picture is the same in three channels, and one of a palette may be stored as grey.
    same: (source, result) =>
      source.colours === result.colours ||
      (source.colours !== 'cmyk' && result.colours !== 'cmyk' && (result.colours !== 'grey' || source.colours !== 'rgb')),
    asked: ({ grayscale }) => grayscale === true,
    // Inks become what screens show, in every format.
    fits: (_, { colours }) => colours !== 'cmyk',
  },
  {
    name: 'alpha',
    show: ({ alpha }) => (alpha ? 'transparent' : undefined),
    asked: ({ background }) => background !== undefined,
    // A channel in which nothing is transparent may go.
    unsure: () => true,
    fits: (format) => TRANSPARENT.has(format),
  },
  {
    name: 'frames',
    show: ({ frames }) => `${frames}`,
    asked: ({ pages }) => pages !== undefined,
    fits: (format, { frames }) => frames === 1 || SEVERAL.has(format),
  },
  {
    name: 'duration',
    show: ({ durationMs }) => (durationMs === undefined ? undefined : `${durationMs / 1000} s`),
    same: (source, result) => Math.abs((source.durationMs ?? 0) - (result.durationMs ?? 0)) <= DELAY_ROUNDS_MS * source.frames,
    fits: (format) => ANIMATED.has(format),
  },
  {
    name: 'repetitions',
    show: ({ loops }) => (loops === undefined ? undefined : loops === 0 ? 'for ever' : `${loops}`),
    fits: (format) => ANIMATED.has(format),
  },
  {
    name: 'density',
    show: ({ density }) => (density === undefined ? undefined : `${density} px an inch`),
    same: (source, result) => Math.abs((source.density ?? 0) - (result.density ?? 0)) <= DENSITY_ROUNDS,
    asked: stripped,
    // The EXIF of a HEIC or AVIF is not read.
    unsure: (_, result) => result.density === undefined && result.exif,
    fits: (format) => WITH_DENSITY.has(format),
  },
  presence(
    'profile',
    ({ profile }) => profile,
    (format) => format !== 'gif',
    (options, source) => stripped(options) || (options.grayscale === true && source.colours !== 'grey'),
  ),
  presence(
    'exif',
    ({ exif }) => exif,
    (format) => WITH_EXIF.has(format),
  ),
  presence(
    'xmp',
    ({ xmp }) => xmp,
    // It announces the gain map, which no result has.
    (format, { gainMap }) => WITH_EXIF.has(format) && !gainMap,
  ),
  presence(
    'iptc',
    ({ iptc }) => iptc,
    (format) => WITH_IPTC.has(format),
  ),
  presence(
    'gain_map',
    ({ gainMap }) => gainMap,
    () => false,
  ),
];

/** A header tells of the first page or frame: the result may be of another one, where the request chooses. */
export const pictureProperties: readonly PictureProperty[] = ofOnePicture.map((property) => ({
  ...property,
  asked: (options, source, result) =>
    (options.pages !== undefined && source.frames > 1) || property.asked?.(options, source, result) === true,
}));
