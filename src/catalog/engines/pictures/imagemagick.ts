/** ImageMagick: image formats that libvips does not support, and icons. Works with versions 6 and 7. */
import { inputLimit } from '../../../errors.ts';
import type { Conversion, Engine, Inspection, Plan, Task } from '../../engine.ts';
import { PNG, TRANSPARENT_HEIC } from '../../known-good.ts';
import { type OptionName, PICTURE_EDITS } from '../../options/options.ts';
import { needOf } from '../../planning/encoders.ts';
import { CARRIER, carryExif, EXIF } from '../../planning/pictures/exif.ts';
import { BESIDE, bounded, DECODER, decodes, overPng } from './heif.ts';
import { READERS, WRITERS } from './imagemagick/coders.ts';
import { flatten, pick, readAndEdit, STRIP, type Unread } from './imagemagick/command.ts';
import { explainImageMagick } from './imagemagick/explain.ts';
import { CONVERT, framesOf, LONGEST_SIDE, pingStep, readPing } from './imagemagick/inspect.ts';
import { isPhotoshop, overRaster, photoshopStep, RASTER, readPhotoshop } from './imagemagick/photoshop.ts';
import { SRGB_BASE64 } from './imagemagick/srgb.ts';

/** Version 6 writes what it has read of EXIF into a PNG as texts, too. */
const WORDLESS = ['-define', 'png:exclude-chunk=date,tIME,tEXt,zTXt,iTXt,eXIf'] as const;

/** Sides of the pictures in an icon, px; Windows uses the nearest. */
const ICON_SIDES = [16, 32, 48, 64, 128, 256] as const;

export const INSPECTION: Inspection = {
  step: (input, task) =>
    decodes(task) ? { run: 'info', args: [input] } : isPhotoshop(task) ? photoshopStep(input) : pingStep(input, task),
  read: (stdout, task) => (decodes(task) ? bounded(stdout) : isPhotoshop(task) ? readPhotoshop(stdout) : readPing(stdout)),
};

export const engine: Engine = {
  id: 'imagemagick',
  name: 'ImageMagick',
  role: 'image',
  toolchains: ['image', 'pdf'],
  // Version 6 reads neither the transparency of HEIC, where libheif decodes the picture first, nor its colour profile and XMP.
  binaries: { convert: CONVERT, heif: { at: DECODER.convert.at }, info: DECODER.info, exif: EXIF, ...BESIDE, ...RASTER },
  conversions: conversions(),
  trials: [
    { file: PNG, target: 'tiff' },
    { file: TRANSPARENT_HEIC, target: 'bmp' },
  ],
  options: (source, target) => [
    ...PICTURE_EDITS,
    'strip_metadata',
    ...(WRITERS[target]?.quality ? (['img_quality'] as const) : []),
    ...(WRITERS[target]?.alpha ? [] : (['background'] as const)),
    ...(READERS[source]?.takes === 'pages' ? (['pages'] as const satisfies OptionName[]) : []),
  ],
  longestSide: LONGEST_SIDE,
  inspect: INSPECTION,
  plan,
  explain: explainImageMagick,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

function conversions(): Conversion[] {
  return Object.keys(READERS).flatMap((source) =>
    Object.entries(WRITERS).map(([target, { rank, loses }]) => ({ source, target, rank, ...(loses === undefined ? {} : { loses }) })),
  );
}

function plan(task: Task): Plan {
  if (!decodes(task)) return overRaster(task, converted);
  const { facts, options, target, input, scratch } = task;
  const frames = framesOf(facts);
  const transparent = frames.some(({ alpha }) => alpha);
  const tells = options.strip_metadata !== true;
  // Phones store photos in a wider gamut than sRGB.
  const profile = !transparent && frames.some((frame) => frame.profile);
  const [xmp, exif] = [tells && facts['xmp'] === true, tells && facts['exif'] === true && target === 'jpg'];
  const [icc, words, app1] = ['icc', 'xmp', 'app1'].map((kind) => `${scratch}/source.${kind}`) as [string, string, string];
  const said = [
    ...(profile ? ['-profile', icc] : []),
    ...(xmp ? ['-profile', words] : []),
    // Version 6 writes the EXIF of a HEIC into a JPEG without what tells that it is EXIF.
    ...(exif ? ['+profile', 'exif', '-profile', app1] : []),
  ];
  const done = transparent ? overPng(task, (png) => converted(png, { said })) : converted(task, { said });
  if (said.length === 0) return done;
  return { ...done, steps: [{ run: 'beside', args: ['said', input, icc, SRGB_BASE64, words, app1] }, ...done.steps] };
}

/** @param tiff the source, if it is a TIFF: what it says in EXIF */
export function converted(task: Task, told: Unread = {}, tiff: string = task.input): Plan {
  const { target, options, output } = task;
  const writer = WRITERS[target];
  const { indices, warnings } = pick(task, writer?.many);
  const picture = readAndEdit(task, indices, told);
  const side = Math.max(picture.width, picture.height);
  if (writer?.longest !== undefined && side > writer.longest) throw inputLimit(`side of ${target}`, writer.longest, side);
  const result = `${output}/out.${target}`;
  const says = target === 'tiff' && options.strip_metadata !== true;
  // ImageMagick does not know it of a TIFF as source, either.
  const carrier = task.source === 'tiff' ? tiff : `${output}/${CARRIER}`;
  const apart = indices.length > 1 && writer?.many === undefined && READERS[task.source]?.takes === 'pages';
  return {
    warnings,
    needs: needOf(target, picture),
    steps: [
      {
        run: 'convert',
        args: [
          ...picture.args,
          ...(writer?.alpha ? [] : flatten(options.background ?? '#ffffff')),
          ...(options.strip_metadata ? STRIP : []),
          // The scale of JPEG and similar formats starts at 1.
          ...(writer?.quality ? ['-quality', `${Math.max(1, options.img_quality ?? 80)}`] : []),
          ...(says && carrier !== tiff
            ? ['(', '-clone', '0', '-crop', '1x1+0+0', '+repage', '-write', `png:${carrier}`, '+delete', ')']
            : []),
          ...(writer?.encode ?? []),
          ...(writer?.eightBits && picture.shallow ? ['-depth', '8'] : []),
          ...(options.strip_metadata ? WORDLESS : []),
          ...(target === 'ico' ? icon(picture.width, picture.height) : []),
          ...(apart ? ['+adjoin', '-scene', '1'] : []),
          `${writer?.coder}:${apart ? `${output}/out-%04d.${target}` : result}`,
        ],
      },
      ...(says ? [carryExif(carrier, result)] : []),
    ],
  };
}

/** A square with the picture in its middle, in every usual size that needs no enlarging. */
function icon(width: number, height: number): readonly string[] {
  const side = Math.max(width, height);
  const sides = ICON_SIDES.filter((each) => each <= Math.max(side, 16)).reverse();
  return ['-background', 'none', '-gravity', 'center', '-extent', `${side}x${side}`, '-define', `icon:auto-resize=${sides.join(',')}`];
}
