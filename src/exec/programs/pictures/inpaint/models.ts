/** The models that fill holes: MI-GAN (Sargsyan and others, 2023) takes pictures of any size, LaMa (Suvorov and others, 2022) squares of 512 pixels. */
import { join } from 'node:path';
import { openSession, Tensor } from '../../inference/session.ts';
import { floatsIn, floatTensor } from '../../inference/tensors.ts';
import { greatest, resample } from '../planes/filters.ts';
import { clamp, type Plane, plane } from '../planes/picture.ts';

/** A part of a picture, with red, green and blue, and what is to be filled of it. */
export interface HolePart {
  readonly width: number;
  readonly height: number;
  readonly colours: readonly [Plane, Plane, Plane];
  /** 1 for each pixel of the hole. */
  readonly hole: Uint8Array;
}

/** @returns red, green and blue of the part, of which only those of the hole are looked at */
export type Inpainting = (part: HolePart) => Promise<readonly Plane[]>;

/** What MI-GAN takes for the hole and for what stays: any other value is read as the other one, and nothing says so. */
const [HOLE, KEPT] = [0, 255];

/** It blends what it draws with what was there, within this share of the side that it sees: the edge of a hole would keep the object's colour. */
const BLENDED = 1 / 64;

/** @param folder of the model */
export async function openMigan(folder: string): Promise<Inpainting> {
  const session = await openSession(join(folder, 'migan_pipeline_v2.onnx'));
  return async ({ width, height, colours, hole }) => {
    const reach = Math.max(1, Math.round(Math.max(width, height) * BLENDED));
    const wider = greatest(plane(width, height, Float32Array.from(hole)), reach).data;
    // Where all is to be filled, nothing would be left to see.
    const asked = wider.every((each) => each === 1) ? hole : wider;
    const image = new Uint8Array(3 * width * height);
    for (const [channel, { data }] of colours.entries())
      for (let i = 0; i < data.length; i++) image[channel * data.length + i] = Math.round(clamp(data[i] as number) * 255);
    const results = await session.run({
      image: new Tensor('uint8', image, [1, 3, height, width]),
      mask: new Tensor(
        'uint8',
        Uint8Array.from(asked, (each) => (each === 1 ? HOLE : KEPT)),
        [1, 1, height, width],
      ),
    });
    return planesOf(floatsIn(results[session.outputNames[0] ?? '']), width, height, 255);
  };
}

/** Side of what LaMa sees, px. */
const SIDE = 512;

/** @param folder of the model */
export async function openLama(folder: string): Promise<Inpainting> {
  const session = await openSession(join(folder, 'lama_fp32.onnx'));
  // The picture has three channels, the mask one.
  const [picture, mask] = [3, 1].map((channels) => session.inputs.find(({ shape }) => shape[1] === channels));
  if (picture === undefined || mask === undefined) throw new Error('expected a graph with a picture and a mask');
  return async ({ width, height, colours, hole }) => {
    const square = (source: Plane): Float32Array => resample(source, SIDE, SIDE).data;
    const image = new Float32Array(3 * SIDE * SIDE);
    for (const [channel, colour] of colours.entries()) image.set(square(colour).map(clamp), channel * SIDE * SIDE);
    // A pixel of which any part is to be filled is filled.
    const covered = square(plane(width, height, Float32Array.from(hole))).map((share) => (share > 0.01 ? 1 : 0));
    const results = await session.run({
      [picture.name]: floatTensor(picture.type, image, [1, 3, SIDE, SIDE]),
      [mask.name]: floatTensor(mask.type, covered, [1, 1, SIDE, SIDE]),
    });
    return planesOf(floatsIn(results[session.outputNames[0] ?? '']), SIDE, SIDE, 255).map((each) => resample(each, width, height));
  };
}

function planesOf(samples: Float32Array, width: number, height: number, most: number): readonly Plane[] {
  const pixels = width * height;
  if (samples.length !== 3 * pixels) throw new Error(`expected ${3 * pixels} samples of the model, received ${samples.length}`);
  return [0, 1, 2].map((channel) =>
    plane(
      width,
      height,
      samples.slice(channel * pixels, (channel + 1) * pixels).map((value) => clamp(value / most)),
    ),
  );
}
