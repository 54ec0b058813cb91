/**
 * Colours a black-and-white picture by DDColor (Kang and others, 2023), which is shown the lightness in 512 × 512 pixels and tells the colours. The
 * lightness of the result is the picture's own, in all its pixels.
 *
 *   colourise.ts --ddcolor-tiny=FOLDER INPUT.pam OUTPUT.pam
 *
 * See `inference/serve.ts`.
 */
import { join } from 'node:path';
import { folderOf } from '../inference/arguments.ts';
import { type ModelProgram, serve } from '../inference/serve.ts';
import { openSession } from '../inference/session.ts';
import { floatsIn, floatTensor } from '../inference/tensors.ts';
import { colourOf, withLuma } from './colourise/lightness.ts';
import { resample } from './planes/filters.ts';
import { clamp, isGrey, lumaOf, type Picture, type Plane, plane, readPam, writePam } from './planes/picture.ts';

/** Side of what the model sees, px. */
const SIDE = 512;

/** @returns a and b of CIE L*a*b*, in the picture's size */
async function chromaOf(grey: Plane, folder: string): Promise<readonly [Plane, Plane]> {
  const session = await openSession(join(folder, 'ddcolor-tiny-fp16.onnx'));
  const [input] = session.inputs;
  const small = resample(grey, SIDE, SIDE).data.map(clamp);
  const colours = new Float32Array(3 * small.length);
  for (let channel = 0; channel < 3; channel++) colours.set(small, channel * small.length);
  const results = await session.run({ [input?.name ?? '']: floatTensor(input?.type, colours, [1, 3, SIDE, SIDE]) });
  const chroma = floatsIn(results[session.outputNames[0] ?? '']);
  if (chroma.length !== 2 * small.length) throw new Error(`expected ${2 * small.length} samples of the model, received ${chroma.length}`);
  const sized = (from: number): Plane => resample(plane(SIDE, SIDE, chroma.slice(from, from + small.length)), grey.width, grey.height);
  return [sized(0), sized(small.length)];
}

async function coloured(picture: Picture, folder: string, progress: (fraction: number) => void): Promise<Picture> {
  const { width, height, maxval } = picture;
  const grey = lumaOf(picture);
  progress(0.05);
  const [a, b] = await chromaOf(grey, folder);
  progress(0.6);
  const colours = [0, 1, 2].map(() => plane(width, height));
  for (let i = 0; i < width * height; i++) {
    const level = Math.round((grey.data[i] as number) * maxval);
    const found = withLuma(level, colourOf(level / maxval, a.data[i] as number, b.data[i] as number), maxval);
    for (const [channel, { data }] of colours.entries()) data[i] = (found[channel] as number) / maxval;
  }
  return { ...picture, colours };
}

const work: ModelProgram['work'] = async ([input = '', output = ''], progress) => {
  const picture = readPam(input);
  const wasColoured = !isGrey(picture);
  writePam(output, await coloured(picture, folderOf('ddcolor-tiny'), progress));
  return wasColoured ? [{ code: 'recoloured', message: 'The photo had colours: they were replaced by those that the model found.' }] : [];
};

await serve({ name: 'colourise', version: '1.0', work });
