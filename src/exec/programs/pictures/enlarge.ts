/**
 * Enlarges a picture two to four times by Real-ESRGAN, a model that draws details which the picture does not have.
 *
 *   enlarge.ts --realesrgan-x4plus=FOLDER INPUT.pam OUTPUT.pam SCALE
 *
 * See `inference/serve.ts`.
 */
import { join } from 'node:path';
import { folderOf } from '../inference/arguments.ts';
import { type ModelProgram, serve } from '../inference/serve.ts';
import { openSession, Tensor } from '../inference/session.ts';
import { type Enlarging, enlargedInTiles } from './enlarge/tiles.ts';
import { boxMean, product, resample } from './planes/filters.ts';
import { clamp, type Picture, type Plane, plane, readPam, writePam } from './planes/picture.ts';

/** What the model enlarges by. */
const FACTOR = 4;
/** How far the colours of what is seen are continued into what is transparent, px. */
const BLEED = 16;

async function modelIn(folder: string): Promise<Enlarging> {
  const session = await openSession(join(folder, 'graph.onnx'));
  const [input = '', output = ''] = [...session.inputNames, ...session.outputNames];
  return async (colours, width, height) => {
    const { [output]: result } = await session.run({ [input]: new Tensor('float32', colours, [1, 3, height, width]) });
    return (result as Tensor).data as Float32Array;
  };
}

async function enlarge(picture: Picture, scale: number, model: Enlarging, progress: (fraction: number) => void): Promise<Picture> {
  const { width, height, alpha, colours } = picture;
  const [red, green = red, blue = red] = alpha === undefined ? colours : colours.map((colour) => continued(colour, alpha));
  if (red === undefined || green === undefined || blue === undefined) throw new Error('a picture without colours');
  const large = await enlargedInTiles([red, green, blue], FACTOR, model, progress);
  const [wide, high] = [width * scale, height * scale];
  const sized = (source: Plane): Plane => (scale === FACTOR ? source : resample(source, wide, high));
  // A grey picture stays grey.
  const isGrey = [green, blue].every(({ data }) => data.every((value, i) => value === red.data[i]));
  const grey = isGrey ? meanOf(large) : undefined;
  const drawn = grey === undefined ? large : colours.map(() => grey);
  return { ...picture, width: wide, height: high, colours: drawn.map(sized), alpha: alpha && resample(alpha, wide, high) };
}

/** The colour of what is transparent is unknown: near what is seen it gets the colour of that, so that no line is drawn between them. */
function continued(colour: Plane, alpha: Plane): Plane {
  const [near, share] = [boxMean(product(colour, alpha), BLEED), boxMean(alpha, BLEED)];
  const data = colour.data.map((value, i) => {
    const a = alpha.data[i] as number;
    const around = (share.data[i] as number) > 1e-4 ? (near.data[i] as number) / (share.data[i] as number) : 0;
    return value * a + clamp(around) * (1 - a);
  });
  return plane(colour.width, colour.height, data);
}

const meanOf = ([red, green, blue]: readonly [Plane, Plane, Plane]): Plane =>
  plane(
    red.width,
    red.height,
    red.data.map((value, i) => (value + (green.data[i] as number) + (blue.data[i] as number)) / 3),
  );

const work: ModelProgram['work'] = async ([input = '', output = '', scale = ''], progress) => {
  writePam(output, await enlarge(readPam(input), Number(scale), await modelIn(folderOf('realesrgan-x4plus')), progress));
  return [];
};

await serve({ name: 'enlarge', version: '1.1', work });
