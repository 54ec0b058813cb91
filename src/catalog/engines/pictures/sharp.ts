/** libvips, through sharp: converts between the common picture formats, with edits; keeps colours and animations. */
import {
  type Binary,
  type ConversationStep,
  type Conversion,
  type Engine,
  type EngineWarning,
  everyPair,
  type Plan,
  type Task,
} from '../../engine.ts';
import { PNG } from '../../known-good.ts';
import { SHOWN } from '../../options/edits.ts';
import { type Options, PICTURE_EDITS } from '../../options/options.ts';
import { type PictureHeader, pictureOf } from '../../planning/headers/picture.ts';
import { CARRIER, carryExif, EXIF } from '../../planning/pictures/exif.ts';
import { orientationOf } from '../../planning/pictures/png.ts';
import { conversationAbout } from './libvips/convert.ts';
import type { ImageRequest } from './libvips/request.ts';

export const VIPS: Binary = {
  at: ['native:vips-server'],
  version: { args: ['--version'], pattern: /libvips (\d+\.\d+\.\d+)/ },
  resident: true,
};

/** Not HEIC, for which sharp's libvips has no decoder, and not SVG, which could read files here. */
const FORMATS = ['png', 'jpg', 'webp', 'gif', 'tiff', 'avif'];
/** It reads the picture of an APNG that programs without animations show. */
const STILLS_OF_APNG = ['png', 'jpg', 'tiff', 'avif'];
export const EDITS = [...PICTURE_EDITS, ...SHOWN] as const;
/** Encoders with a quality setting; the others are lossless. */
const WITH_QUALITY = new Set(['jpg', 'webp', 'avif']);
/** Formats in which a lower quality saves bytes, if only by fewer colours. */
const COMPRESSED = new Set(['jpg', 'png', 'webp', 'gif']);

/** Not TIFF: libvips writes several pages only if all have the same size. */
const again: Conversion[] = FORMATS.filter((format) => format !== 'tiff').map((format) => ({ source: format, target: format, rank: 90 }));

export const engine: Engine = {
  id: 'sharp',
  name: 'libvips (sharp)',
  role: 'image',
  toolchains: ['image', 'office'],
  binaries: { vips: VIPS, exif: EXIF },
  conversions: [
    ...everyPair(
      FORMATS,
      FORMATS.filter((format) => format !== 'gif'),
      { rank: 90 },
    ),
    ...everyPair(['apng'], STILLS_OF_APNG, { rank: 90 }),
    ...everyPair(FORMATS, ['gif'], { rank: 80, loses: ['colours beyond 256 a frame'] }),
    ...again,
  ],
  trials: [{ file: PNG, target: 'tiff' }],

  options: (source, target) => [
    ...EDITS,
    'strip_metadata',
    ...(WITH_QUALITY.has(target) ? (['img_quality'] as const) : []),
    ...(COMPRESSED.has(target) ? (['compress'] as const) : []),
    ...(target === 'jpg' ? (['background'] as const) : []),
    ...(source === 'tiff' ? (['pages'] as const) : []),
  ],

  plan: (task) => pictured(task),
};

/**
 * libvips neither reads nor writes the EXIF of a TIFF, and does not read it behind the pixels of a PNG.
 * @param tiff the source, if it is a TIFF: what it says in EXIF @param colours see `ImageRequest`
 */
export function pictured({ source, target, options, input, output, scratch, facts }: Task, tiff = input, colours?: number): Plan {
  const picture = pictureOf(facts);
  const order = {
    ...{ source, target, options, input, output: `${output}/result.${target}`, colours, orientation: orientationOf(facts) },
    ...{ gamma: picture?.gamma, wordless: picture?.gainMap },
  };
  const warnings = lostOf(source, picture);
  if (options.strip_metadata || target === 'gif') return { warnings, steps: [talk(order)] };
  const said = `${scratch}/said.jpg`;
  const isBehind = facts['exifBehind'] === true;
  if (target === 'tiff') {
    const behind = isBehind ? [carryExif(input, said), carryExif(said, order.output)] : [];
    return { warnings, steps: [talk(order), carryExif(`${output}/${CARRIER}`, order.output), ...behind] };
  }
  if (source !== 'tiff' && !isBehind) return { warnings, steps: [talk(order)] };
  return { warnings, steps: [carryExif(tiff, said), talk({ ...order, said })] };
}

/** What libvips reads of it, and no result has. */
const lostOf = (source: string, picture: PictureHeader | undefined): readonly EngineWarning[] => [
  ...(picture?.gainMap ? [{ code: 'lossy', message: `This conversion from ${source} does not keep: the gain map for HDR displays.` }] : []),
  ...(source === 'avif' && picture !== undefined && picture.frames > 1
    ? [
        {
          code: 'animation_first_frame',
          message: `The source is an animation of ${picture.frames} frames: the result is its first frame.`,
        },
      ]
    : []),
];

interface EditRequest {
  readonly source: string;
  readonly target: string;
  readonly options: Options;
  /** Absolute paths of files. */
  readonly input: string;
  readonly output: string;
  readonly said?: string;
  readonly colours?: number | undefined;
  readonly orientation?: number | undefined;
  readonly gamma?: number | undefined;
  readonly wordless?: boolean | undefined;
}

/** What libvips does to one picture, by what it finds in it. */
export const talk = (order: EditRequest): ConversationStep => ({
  talk: 'vips',
  conversation: (at, memoryBytes) => {
    const said = order.said === undefined ? undefined : at(order.said);
    return conversationAbout({ ...requestOf(order), input: at(order.input), output: at(order.output), said, memoryBytes });
  },
  ...(order.said === undefined ? {} : { beside: order.said }),
});

const requestOf = ({ source, target, options, ...known }: EditRequest): Omit<ImageRequest, 'input' | 'output' | 'said'> => ({
  source,
  target,
  rotate: options.img_rotate,
  crop: cropOf(options),
  resize: resizeOf(options),
  fit: fitOf(options),
  grayscale: options.grayscale,
  blur: options.blur,
  watermark: options.watermark,
  quality: Math.max(1, options.compress ?? options.img_quality ?? 80),
  compress: options.compress !== undefined,
  background: options.background ?? '#ffffff',
  strip: options.strip_metadata ?? false,
  pages: options.pages,
  colours: known.colours,
  orientation: known.orientation,
  gamma: known.gamma,
  wordless: known.wordless,
});

function cropOf({ img_crop_x: x, img_crop_y: y, img_crop_w: w, img_crop_h: h }: Options): ImageRequest['crop'] {
  return x === undefined && y === undefined && w === undefined && h === undefined ? undefined : { x: x ?? 0, y: y ?? 0, w, h };
}

/** With one side alone, the ratio is kept anyway. */
const fitOf = ({ fit, img_resize_w: w, img_resize_h: h }: Options): ImageRequest['fit'] =>
  fit === 'fill' || w === undefined || h === undefined ? undefined : fit;

function resizeOf({ img_resize_w: w, img_resize_h: h }: Options): ImageRequest['resize'] {
  return w === undefined && h === undefined ? undefined : { w, h };
}
