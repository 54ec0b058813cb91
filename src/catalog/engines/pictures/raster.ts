/**
 * Pictures that a program of our own reads: ImageMagick 6 reads the oldest kinds of DDS and of GIMP's XCF alone, and makes black of many a FITS;
 * JPEG-LS is read by CharLS, which no program of Debian's offers outside DICOM.
 */
import { conversionFailed } from '../../../errors.ts';
import { type Engine, everyPair, type Facts, type Inspection } from '../../engine.ts';
import { DDS, JLS } from '../../known-good.ts';
import { ownStep } from '../../planning/told.ts';
import { explainImageMagick } from './imagemagick/explain.ts';
import type { Frame } from './imagemagick/inspect.ts';
import { RASTER } from './imagemagick/photoshop.ts';

/** Needs the binary `raster`. */
export const sizeStep: Inspection = { step: (input) => ownStep('raster', ['inspect', input]), read: sizeIn };

export const engine: Engine = {
  id: 'raster',
  name: 'filemill raster',
  role: 'image',
  toolchains: ['image', 'pdf'],
  binaries: RASTER,
  conversions: [...everyPair(['dds', 'jls', 'fits'], ['png'], { rank: 90 }), { source: 'xcf', target: 'png', rank: 90, loses: ['layers'] }],
  trials: [
    { file: DDS, target: 'png' },
    { file: JLS, target: 'png' },
  ],
  options: () => [],
  inspect: sizeStep,
  plan: ({ input, output }) => ({ steps: [ownStep('raster', ['decode', input, `${output}/out.png`])] }),
  explain: explainImageMagick,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

/** @throws Failure `corrupt_input` if the output has no size */
function sizeIn(stdout: string): Facts {
  const [, width, height] = /^\{"width":(\d+),"height":(\d+)\}$/m.exec(stdout) ?? [];
  if (width === undefined || height === undefined) throw conversionFailed('corrupt_input');
  const frame: Frame = {
    ...{ width: Number(width), height: Number(height) },
    ...{ alpha: true, upright: true, onItsSide: false, profile: false, density: undefined },
  };
  return { frames: [frame] };
}
