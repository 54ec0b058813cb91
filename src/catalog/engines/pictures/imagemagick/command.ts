/** Builds the ImageMagick command of a task: reading, editing and flattening. */

import type { EngineWarning, Facts, Task } from '../../../engine.ts';
import { choosePages } from '../../../options/pages.ts';
import { pictureOf } from '../../../planning/headers/picture.ts';
import { orientationOf } from '../../../planning/pictures/png.ts';
import { READERS } from './coders.ts';
import { edits } from './edits.ts';
import { type Frame, framesOf, IMAGEMAGICK_LIMITS } from './inspect.ts';
import { TO_SRGB } from './srgb.ts';

export interface Picked {
  /** Indices of the frames to read. */
  readonly indices: readonly number[];
  readonly warnings: readonly EngineWarning[];
}

/** Selects the pictures of the source for this target. @param many what the target can contain several of @throws Failure `input_limit` if no requested page exists */
export function pick({ source, options, facts }: Task, many: 'pages' | 'frames' | undefined): Picked {
  const frames = framesOf(facts);
  const all = frames.map((_, index) => index);
  switch (READERS[source]?.takes) {
    case 'largest':
      return { indices: [largest(frames)], warnings: [] };
    case 'pages': {
      if (options.pages === undefined) return { indices: all, warnings: [] };
      const { pages, warnings } = choosePages(options.pages, frames.length);
      return { indices: pages.map((page) => page - 1), warnings };
    }
    case 'frames':
      if (many === 'frames' || frames.length < 2) return { indices: all, warnings: [] };
      return {
        indices: [0],
        warnings: [
          {
            code: 'animation_first_frame',
            message: `The source is an animation of ${frames.length} frames: the result is its first frame.`,
          },
        ],
      };
    default:
      return { indices: [0], warnings: mainPictureOnly(facts) };
  }
}

/** A HEIC may contain several pictures, of which one is meant to be shown. @param facts as `heif.ts` reads them */
export const mainPictureOnly = ({ pictures }: Facts): readonly EngineWarning[] =>
  pictures === undefined
    ? []
    : [{ code: 'main_picture_only', message: `The file contains ${String(pictures)} pictures: the result is the main one.` }];

/** Arguments for what ImageMagick does not know of the picture. */
export interface Unread {
  /** What its samples mean. */
  readonly means?: readonly string[];
  /** Its colour profile, and what is said of it. */
  readonly said?: readonly string[];
}

/** ImageMagick's names for EXIF's orientations from 2 on. */
const ORIENTATIONS = ['TopRight', 'BottomRight', 'BottomLeft', 'LeftTop', 'RightTop', 'RightBottom', 'LeftBottom'] as const;

/** Arguments that read and edit the picture and convert it to sRGB, and its size in px. */
export function readAndEdit({ source, input, options, facts }: Task, indices: readonly number[], { means = [], said = [] }: Unread = {}) {
  const reader = READERS[source];
  const frames = framesOf(facts);
  const frame = frames[indices[0] ?? 0] ?? {
    width: 1,
    height: 1,
    alpha: true,
    upright: true,
    onItsSide: false,
    profile: false,
    density: undefined,
  };
  const edited = edits(frame, options);
  const orientation = ORIENTATIONS[(orientationOf(facts) ?? 1) - 2];
  return {
    width: edited.width,
    height: edited.height,
    alpha: frame.alpha,
    shallow: frame.shallow === true,
    density: frame.density,
    args: [
      ...IMAGEMAGICK_LIMITS,
      `${reader?.coder}:${input}[${indices.join(',')}]`,
      ...(reader?.means ?? []),
      ...means,
      ...brightened(pictureOf(facts)?.gamma),
      ...(reader?.takes === 'frames' && indices.length > 1 ? ['-coalesce'] : []),
      // Drops a cursor's hot spot and a scanner's offset.
      ...(reader?.takes === 'frames' ? [] : ['+repage']),
      ...(frame.deeper ? ['-depth', '16'] : []),
      ...(orientation === undefined ? [] : ['-orient', orientation, '-auto-orient', '-orient', 'TopLeft']),
      ...edited.args,
      ...said,
      ...(frame.profile || reader?.hidesProfile ? TO_SRGB : []),
      // Converts CMYK, Lab, YCbCr and linear sources: every target means sRGB by RGB.
      ...['-colorspace', 'sRGB'],
    ],
  };
}

/** From this gamma on, ImageMagick takes a PNG for linear light, and below it for sRGB. */
const LINEAR = 0.75;
const brightened = (gamma: number | undefined): readonly string[] =>
  gamma === undefined || gamma > LINEAR ? [] : ['-gamma', (2.2 * gamma).toFixed(4)];

export const flatten = (background: string): readonly string[] => ['-background', background, '-alpha', 'remove', '-alpha', 'off'];

/** Removes all profiles, comments and titles. */
export const STRIP = ['+profile', '*', '+set', 'comment', '+set', 'caption', '+set', 'label'] as const;

function largest(frames: readonly Frame[]): number {
  const areas = frames.map(({ width, height }) => width * height);
  return Math.max(0, areas.indexOf(Math.max(...areas)));
}
