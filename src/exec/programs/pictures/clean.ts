/**
 * Takes noise and the traces of JPEG from a picture by SCUNet (Zhang and others, 2022), at its own size.
 *
 *   clean.ts --scunet-psnr=FOLDER INPUT.pam OUTPUT.pam
 *
 * See `inference/serve.ts`.
 */
import { join } from 'node:path';
import { folderOf } from '../inference/arguments.ts';
import { type ModelProgram, serve } from '../inference/serve.ts';
import { openSession } from '../inference/session.ts';
import { floatsIn, floatTensor } from '../inference/tensors.ts';
import { type Enlarging, enlargedInTiles, type Tiling } from './enlarge/tiles.ts';
import { type Picture, plane, readPam, writePam } from './planes/picture.ts';

/** Its windows of 8 pixels are halved three times: both sides are multiples of 64. */
const TILING: Tiling = { side: 256, margin: 32, multiple: 64 };

async function modelIn(folder: string): Promise<Enlarging> {
  const session = await openSession(join(folder, 'scunet-color-real-psnr.onnx'));
  const [input] = session.inputs;
  const [output = ''] = session.outputNames;
  return async (colours, width, height) => {
    const results = await session.run({ [input?.name ?? '']: floatTensor(input?.type, colours, [1, 3, height, width]) });
    return floatsIn(results[output]);
  };
}

async function clean(picture: Picture, model: Enlarging, progress: (fraction: number) => void): Promise<Picture> {
  const { width, height, colours } = picture;
  const [red, green = red, blue = red] = colours;
  if (red === undefined || green === undefined || blue === undefined) throw new Error('a picture without colours');
  const cleaned = await enlargedInTiles([red, green, blue], 1, model, progress, TILING);
  // A grey picture stays grey.
  const [r, g, b] = cleaned.map(({ data }) => data) as [Float32Array, Float32Array, Float32Array];
  const grey = () =>
    plane(
      width,
      height,
      r.map((value, i) => (value + (g[i] as number) + (b[i] as number)) / 3),
    );
  return { ...picture, colours: colours.length === 1 ? [grey()] : cleaned };
}

const work: ModelProgram['work'] = async ([input = '', output = ''], progress) => {
  writePam(output, await clean(readPam(input), await modelIn(folderOf('scunet-psnr')), progress));
  return [];
};

await serve({ name: 'clean', version: '1.0', work });
