/** Models that enlarge: read from ncnn's files, and run piece by piece. */
import { describe, expect, it } from 'vitest';
import { ncnnFrom } from '../../../../src/exec/models/conversion/ncnn.ts';
import { float32s, Graph, scalar } from '../../../../src/exec/models/conversion/onnx.ts';
import { openSession, Tensor } from '../../../../src/exec/programs/inference/session.ts';
import { type Enlarging, enlargedInTiles } from '../../../../src/exec/programs/pictures/enlarge/tiles.ts';
import { type Plane, plane } from '../../../../src/exec/programs/pictures/planes/picture.ts';
import { float16 } from './float16.ts';

async function modelOf(pieces: readonly Uint8Array[]): Promise<Enlarging> {
  const session = await openSession(Buffer.concat(pieces));
  return async (colours, width, height) => {
    const results = await session.run({ picture: new Tensor('float32', colours, [1, 3, height, width]) });
    return (results['enlarged'] as Tensor).data as Float32Array;
  };
}

/** Every value is told from all others. */
const picture = (width: number, height: number): [Plane, Plane, Plane] =>
  [0, 1, 2].map((channel) =>
    plane(
      width,
      height,
      Float32Array.from({ length: width * height }, (_, i) => i * 4 + channel),
    ),
  ) as [Plane, Plane, Plane];

/** Each pixel becomes four times four of its value. */
function nearest(): Promise<Enlarging> {
  const graph = new Graph();
  const port = (name: string) => ({ name, type: 'float32', shape: [1, 3, `${name} height`, `${name} width`] }) as const;
  const given = graph.input(port('picture'));
  const scales = graph.constant(float32s(Float32Array.of(1, 1, 4, 4), [4]));
  graph.output(graph.op('Resize', [given, '', scales]), port('enlarged'));
  return modelOf(graph.model(17));
}

describe('enlarging in pieces', () => {
  it.each([
    ['smaller than a piece', 7, 5],
    ['as large as one', 160, 160],
    ['of several, the last of a single column and row', 321, 161],
  ])('has no seams in a picture %s', async (_, width, height) => {
    const source = picture(width, height);
    const told: number[] = [];
    const large = await enlargedInTiles(source, 4, await nearest(), (fraction) => told.push(fraction));
    for (const [channel, { data, width: wide, height: high }] of large.entries()) {
      expect([wide, high]).toEqual([4 * width, 4 * height]);
      const expected = Float32Array.from({ length: wide * high }, (__, i) => {
        const [x, y] = [(i % wide) >> 2, Math.floor(i / wide) >> 2];
        return source[channel]?.data[y * width + x] as number;
      });
      expect(Buffer.compare(Buffer.from(data.buffer), Buffer.from(expected.buffer))).toBe(0);
    }
    expect(told.at(-1)).toBe(1);
    expect(told).toEqual([...told].sort((a, b) => a - b));
  });

  it('has none of a model that looks around each pixel, and mirrors the picture at its edges', async () => {
    const graph = new Graph();
    const port = (name: string) => ({ name, type: 'float32', shape: [1, 3, `${name} height`, `${name} width`] }) as const;
    const given = graph.input(port('picture'));
    // The mean of 9 × 9 pixels, with nothing beyond the piece.
    const kernel = graph.constant(float32s(new Float32Array(3 * 81).fill(1 / 81), [3, 1, 9, 9]));
    const blurred = graph.op('Conv', [given, kernel], { group: 3, pads: [4, 4, 4, 4] });
    graph.output(graph.op('Mul', [blurred, graph.constant(scalar(2))]), port('enlarged'));
    const source = picture(200, 170);
    const [red] = await enlargedInTiles(source, 1, await modelOf(graph.model(17)), () => undefined);
    const inside = (place: number, count: number) => Math.abs(place < count ? place : 2 * (count - 1) - place);
    const at = (x: number, y: number) => source[0].data[inside(y, 170) * 200 + inside(x, 200)] as number;
    for (const [x, y] of [
      [0, 0],
      [199, 169],
      [159, 80],
      [160, 80],
      [80, 159],
      [160, 160],
    ] as const) {
      let sum = 0;
      for (let dy = -4; dy <= 4; dy++) for (let dx = -4; dx <= 4; dx++) sum += (2 * at(x + dx, y + dy)) / 81;
      expect((red.data[y * 200 + x] as number) / sum, `${x}, ${y}`).toBeCloseTo(1, 4);
    }
  });

  it('refuses a model that gives another size', async () => {
    await expect(
      enlargedInTiles(
        picture(4, 4),
        4,
        async (colours) => colours,
        () => undefined,
      ),
    ).rejects.toThrow('expected 37632 samples of the model, received 2352');
  });
});

/** A convolution of one pixel that scales each colour, then a leaky rectifier. */
function weightsOf(scales: readonly number[], bias: number): Buffer<ArrayBuffer> {
  const kernel = Uint16Array.from({ length: 9 }, (_, i) => (i % 4 === 0 ? float16(scales[i / 4] as number) : 0));
  const flag = Buffer.alloc(4);
  flag.writeUInt32LE(0x01306b47);
  // 18 bytes of weights, aligned to 4.
  return Buffer.concat([flag, Buffer.from(kernel.buffer), Buffer.alloc(2), Buffer.from(Float32Array.of(bias, bias, bias).buffer)]);
}
const HEAD = 'Input a 0 1 data';
const CONVOLUTION = 'Convolution b 1 1 data scaled 0=3 1=1 4=0 5=1 6=9';
const ncnn = (layers: readonly string[], weights: Buffer = Buffer.alloc(0)): Buffer =>
  Buffer.concat([Buffer.from(`7767517\n${layers.length} 9\n${layers.join('\n')}\n`), weights]);

describe("ncnn's files", () => {
  it('become a graph that computes what they say', async () => {
    const layers = [
      HEAD,
      `${CONVOLUTION} 9=2 -23310=1,0.25`,
      'Split c 1 2 scaled one two',
      'Eltwise d 2 1 one two sum 0=1 -23301=2,0.5,1.0',
      'Interp e 1 1 sum large 0=1 1=2.0 2=2.0',
    ];
    const model = await modelOf(ncnnFrom(ncnn(layers, weightsOf([2, 1, 1], -4)))['graph.onnx']);
    // Scaled, less 4, a quarter of it where it is negative, one and a half times.
    const large = await model(Float32Array.of(8, 1, 2, 4, 0, 6), 2, 1);
    const expected = [18, -0.75, -0.75, 0, -1.5, 3];
    expect([...large]).toEqual(
      [0, 2, 4].flatMap((at) => [0, 1].flatMap(() => [0, 1].flatMap((x) => [expected[at + x], expected[at + x]]))),
    );
  });

  it.each([
    ['another kind of file', Buffer.from('PK\u0003\u0004\n'), 'expected a model of ncnn'],
    ['fewer layers than they say', Buffer.from('7767517\n3 3\nInput a 0 1 data\n'), 'expected another line'],
    ['an unknown layer', ncnn([HEAD, 'Softmax b 1 1 data out']), 'received one of type Softmax'],
    ['a value before its layer', ncnn([HEAD, 'Split b 1 1 later out']), 'expected a layer before its use: later'],
    ['weights of 32 bits', ncnn([HEAD, CONVOLUTION], Buffer.alloc(60)), 'expected weights of 16 bits'],
    ['too few weights', ncnn([HEAD, CONVOLUTION], weightsOf([1, 1, 1], 0).subarray(0, 30)), 'the file is too short'],
    ['more weights', ncnn([HEAD, CONVOLUTION], Buffer.concat([weightsOf([1, 1, 1], 0), Buffer.alloc(1)])), 'bytes, received'],
    ['a stride', ncnn([HEAD, `${CONVOLUTION} 3=2`], weightsOf([1, 1, 1], 0)), 'without stride'],
  ])('are refused with %s', (_, file, message) => {
    expect(() => ncnnFrom(file)).toThrow(message);
  });
});
