/** What stands out in a picture, as a plane from 0 (background) to 1, by U²-Net or IS-Net (Qin and others, 2020 and 2022), with edges that follow the picture's. */
import { guided, resample } from '../planes/filters.ts';
import { clamp, lumaOf, type Picture, type Plane, plane } from '../planes/picture.ts';
import { loadModel } from './model.ts';

/** Mean and deviation of ImageNet, by channel. */
const MEAN = [0.485, 0.456, 0.406];
const DEVIATION = [0.229, 0.224, 0.225];
/** Below this, nothing is clear enough to be stretched. */
const FAINT = 0.5;
/** What the guided filter takes for an edge, of 1. */
const EDGE = 0.03;
/** A trace of the background that the filter leaves, and what it takes from the subject. */
const HAZE = 0.06;

export interface Mask {
  readonly plane: Plane;
  /** How sure the model is, from 0 to 1. */
  readonly confidence: number;
  /** Share of the picture that stands out. */
  readonly share: number;
}

/** What differs between the models. */
export interface SubjectModel {
  readonly folder: string;
  readonly file: string;
  /** Side of its input, px. */
  readonly side: number;
  /** Name of its last answer, which takes all others into account; unset: its first output. */
  readonly output?: string;
  /** What it expects to be subtracted from each channel, and what the rest is divided by; whether the brightest value counts as 1. */
  readonly mean: readonly number[];
  readonly deviation: readonly number[];
  readonly stretches: boolean;
}

/** U²-Net, large or small: both have the same input and outputs. */
export const u2net = (folder: string, file: string): SubjectModel => ({
  folder,
  file,
  side: 320,
  output: '1959',
  mean: MEAN,
  deviation: DEVIATION,
  stretches: true,
});

export const isnet = (folder: string): SubjectModel => ({
  folder,
  file: 'isnet-general-use.onnx',
  side: 1024,
  mean: [0.5, 0.5, 0.5],
  deviation: [1, 1, 1],
  stretches: false,
});

export async function maskOf(picture: Picture, model: SubjectModel): Promise<Mask> {
  const { folder, file, side, output } = model;
  const run = await loadModel(folder, file, output === undefined ? undefined : [output]);
  const [answer = new Float32Array()] = await run(inputOf(picture, model), [1, 3, side, side]);
  const rough = stretched(answer);
  const { width, height } = picture;
  const whole = resample(plane(side, side, rough), width, height);
  // As far as one pixel of the answer reaches in the picture, twice over.
  const radius = Math.max(2, Math.round((2 * Math.max(width, height)) / side));
  const fine = guided(whole, lumaOf(picture), radius, EDGE);
  const data = Float32Array.from(fine.data, (value) => clamp((value - HAZE) / (1 - 2 * HAZE)));
  return { plane: plane(width, height, data), ...sureness(rough) };
}

function inputOf(picture: Picture, { side, mean, deviation, stretches }: SubjectModel): Float32Array {
  const data = new Float32Array(3 * side * side);
  const small = picture.colours.map((colour) => resample(colour, side, side).data);
  const brightest = stretches
    ? Math.max(
        1e-6,
        small.reduce((most, channel) => channel.reduce((a, b) => Math.max(a, b), most), 0),
      )
    : 1;
  for (let channel = 0; channel < 3; channel++) {
    const from = small[Math.min(channel, small.length - 1)] as Float32Array;
    for (let i = 0; i < side * side; i++)
      data[channel * side * side + i] = ((from[i] as number) / brightest - (mean[channel] as number)) / (deviation[channel] as number);
  }
  return data;
}

/** From 0 to 1, where something stands out at all. */
function stretched(answer: Float32Array): Float32Array<ArrayBuffer> {
  const [least, most] = answer.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [1, 0] as [number, number]);
  // The same everywhere: all of it stands out, or nothing.
  const isPlain = most < FAINT || most === least;
  return Float32Array.from(answer, (value) => (isPlain ? value : (value - least) / (most - least)));
}

function sureness(mask: Float32Array): Pick<Mask, 'confidence' | 'share'> {
  let [certain, shown, stands] = [0, 0, 0];
  for (const value of mask) {
    if (value > 0.5) stands++;
    if (value < 0.05) continue;
    shown++;
    certain += Math.abs(2 * value - 1);
  }
  return { confidence: shown === 0 ? 0 : certain / shown, share: stands / mask.length };
}
