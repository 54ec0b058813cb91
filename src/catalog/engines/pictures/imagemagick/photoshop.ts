/** Photoshop's files with a palette or with floats, of which version 6 of ImageMagick refuses the one and darkens the other: `raster` decodes them. */
import { conversionFailed } from '../../../../errors.ts';
import type { Binary, Facts, Plan, ProcessStep, Task } from '../../../engine.ts';
import { ownStep } from '../../../planning/told.ts';
import { boundedFrames, type Frame, likelyDensity } from './inspect.ts';
import { overDecoded } from './over-decoded.ts';

export const RASTER: Readonly<Record<'raster', Binary>> = { raster: { at: ['program:pictures/raster.ts'] } };

export const isPhotoshop = ({ source }: { readonly source: string }): boolean => source === 'psd' || source === 'psb';

/** Channels of the colours, by mode: grey, indexed, RGB, CMYK, duotone, Lab; a bitmap has one as well. */
const COLOURS: Readonly<Record<number, number>> = { 3: 3, 4: 4, 9: 3 };

/** Needs the binary `raster`. */
export const photoshopStep = (input: string): ProcessStep => ownStep('raster', ['inspect', input]);

/** @throws Failure `CONVERSION_FAILED` if a bound is exceeded, or it is damaged */
export function readPhotoshop(stdout: string): Facts {
  const line = stdout.split('\n').find((each) => each.startsWith('{"width":'));
  if (line === undefined) throw conversionFailed('corrupt_input');
  const { width, height, mode, depth, channels, isOurs, density } = JSON.parse(line) as Readonly<
    Record<string, number | boolean | undefined>
  >;
  const frame: Frame = {
    ...{ width: Number(width), height: Number(height) },
    alpha: isOurs === true ? mode === 2 : Number(channels) > (COLOURS[Number(mode)] ?? 1),
    ...{ upright: true, onItsSide: false, profile: false },
    deeper: Number(depth) > 16,
    density: likelyDensity(Number(density)),
  };
  return { frames: boundedFrames([frame]), isOurs: isOurs === true };
}

/** The plan of an engine that reads by ImageMagick, for the picture that `raster` has decoded where ImageMagick does not. */
export function overRaster(task: Task, work: (task: Task) => Plan): Plan {
  if (task.facts['isOurs'] !== true) return work(task);
  return overDecoded(task, (png) => [ownStep('raster', ['decode', task.input, png])], work);
}
