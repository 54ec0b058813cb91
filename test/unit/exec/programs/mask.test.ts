/** How a model's answer becomes the mask of a picture: by tiny graphs with the input and the output of U²-Net. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { float32s, Graph, scalar } from '../../../../src/exec/models/conversion/onnx.ts';
import { cutOut } from '../../../../src/exec/programs/pictures/matte/compose.ts';
import { isnet, maskOf, u2net } from '../../../../src/exec/programs/pictures/matte/mask.ts';
import { type Picture, plane } from '../../../../src/exec/programs/pictures/planes/picture.ts';

const folder = mkdtempSync(join(tmpdir(), 'filemill-mask-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SIDE = 320;
/** The model's share of each channel, and what it adds. */
function model(name: string, weights: readonly [number, number, number], more: number) {
  const graph = new Graph();
  const given = graph.input({ name: 'input.1', type: 'float32', shape: [1, 3, SIDE, SIDE] });
  const kernel = graph.constant(float32s(Float32Array.from(weights), [1, 3, 1, 1]));
  const bias = graph.constant(float32s(Float32Array.of(more), [1]));
  // Where a picture is made larger or smaller, its edges overshoot.
  const weighed = graph.op('Conv', [given, kernel, bias]);
  graph.output(graph.op('Clip', [weighed, graph.constant(scalar(0)), graph.constant(scalar(1))]), {
    name: '1959',
    type: 'float32',
    shape: [1, 1, SIDE, SIDE],
  });
  writeFileSync(join(folder, name), Buffer.concat(graph.model(17)));
  return u2net(folder, name);
}
/** What is red stands out, steeply: four times the channel, of which the input lacks mean and deviation, less one and a half. */
const red = model('red.onnx', [4 * 0.229, 0, 0], 4 * 0.485 - 1.5);

/** A picture in three colours. @param colour of a pixel, each 0 to 1 */
const picture = (width: number, height: number, colour: (x: number, y: number) => readonly [number, number, number]): Picture => ({
  width,
  height,
  colours: [0, 1, 2].map((channel) =>
    plane(
      width,
      height,
      Float32Array.from({ length: width * height }, (_, i) => colour(i % width, Math.floor(i / width))[channel] ?? 0),
    ),
  ),
  alpha: undefined,
  maxval: 255,
});

describe('a mask', () => {
  it.each([
    ['as large as the model', 320, 320],
    ['larger', 900, 700],
    ['smaller', 90, 70],
  ])('cuts a picture that is %s where the model says, within two pixels of its answer', async (_, width, height) => {
    const half = Math.floor(width / 2);
    const {
      plane: mask,
      confidence,
      share,
    } = await maskOf(
      picture(width, height, (x) => (x < half ? [1, 0.2, 0.1] : [0, 0.3, 0.9])),
      red,
    );
    const near = Math.max(2, Math.ceil((2 * width) / SIDE));
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++)
        if (Math.abs(x + 0.5 - half) > near) expect(mask.data[y * width + x], `${x}, ${y}`).toBe(x < half ? 1 : 0);
    expect(share).toBeCloseTo(0.5, 2);
    expect(confidence).toBeGreaterThan(0.95);
  });

  it('that is everywhere leaves the picture as it is', async () => {
    const whole = picture(64, 48, (x, y) => [x / 64, y / 48, 0.5]);
    const { plane: mask, confidence, share } = await maskOf(whole, model('all.onnx', [0, 0, 0], 1));
    expect([share, confidence, mask.data.every((value) => value === 1)]).toEqual([1, 1, true]);
    const cut = cutOut(whole, mask);
    expect(cut.alpha?.data.every((value) => value === 1)).toBe(true);
    for (const [channel, { data }] of whole.colours.entries()) expect(cut.colours[channel]?.data).toEqual(data);
  });

  it('that is nowhere says that nothing stands out', async () => {
    const { plane: mask, share } = await maskOf(
      picture(64, 48, () => [0.2, 0.5, 0.5]),
      model('none.onnx', [0, 0, 0], 0),
    );
    expect([share, mask.data.every((value) => value === 0)]).toEqual([0, true]);
  });
});

it('of IS-Net sees 1024 pixels from -0.5 to 0.5, and its answer is stretched', async () => {
  const graph = new Graph();
  const given = graph.input({ name: 'input_image', type: 'float32', shape: [1, 3, 1024, 1024] });
  // It looks at the red channel alone, from 0.3 to 0.8: what is darkest is the background.
  const kernel = graph.constant(float32s(Float32Array.of(0.5, 0, 0), [1, 3, 1, 1]));
  const bias = graph.constant(float32s(Float32Array.of(0.55), [1]));
  graph.output(graph.op('Conv', [given, kernel, bias]), { name: 'output_image', type: 'float32', shape: [1, 1, 1024, 1024] });
  writeFileSync(join(folder, 'isnet-general-use.onnx'), Buffer.concat(graph.model(17)));
  const { plane: mask } = await maskOf(
    picture(300, 200, (x) => (x < 150 ? [1, 0.2, 0.1] : [0, 0.3, 0.9])),
    isnet(folder),
  );
  for (let x = 0; x < 300; x++)
    if (Math.abs(x - 150) > 8) expect(Math.abs((mask.data[100 * 300 + x] as number) - (x < 150 ? 1 : 0))).toBeLessThan(0.15);
});
