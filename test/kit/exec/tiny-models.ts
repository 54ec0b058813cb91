/** Tiny graphs with the signatures of models that are too large to have here: what a program does around a model is tried on them. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ElementType, float32s, Graph } from '../../../src/exec/models/conversion/onnx.ts';

type Shape = readonly (number | string)[];
interface Port {
  readonly name: string;
  readonly shape: Shape;
}

/** @param work from the 32-bit inputs to the 32-bit output @param type of all inputs and of the output */
export function graphOf(
  inputs: readonly Port[],
  output: Port,
  work: (graph: Graph, given: readonly string[]) => string,
  type: ElementType = 'float32',
): Buffer {
  const graph = new Graph();
  const wide = inputs.map((input) => graph.op('Cast', [graph.input({ ...input, type })], { to: 1 }));
  graph.output(graph.op('Cast', [work(graph, wide)], { to: type === 'float16' ? 10 : 1 }), { ...output, type });
  return Buffer.concat(graph.model(17));
}

/** Each channel of the result is a weighed sum of those of the input, and a number more. */
export function mixed(graph: Graph, given: string, weights: readonly (readonly number[])[], more: readonly number[]): string {
  const kernel = graph.constant(float32s(Float32Array.from(weights.flat()), [weights.length, weights[0]?.length ?? 0, 1, 1]));
  return graph.op('Conv', [given, kernel, graph.constant(float32s(Float32Array.from(more), [more.length]))]);
}

export const number = (graph: Graph, value: number): string => graph.constant(float32s(Float32Array.of(value), [1]));

/** DDColor: a grows to the right with the lightness, and b is the same everywhere. */
export const ddcolor = (type: ElementType = 'float16'): Buffer =>
  graphOf(
    [{ name: 'any-input', shape: [1, 3, 512, 512] }],
    { name: 'any-output', shape: [1, 2, 512, 512] },
    (graph, [given = '']) =>
      mixed(
        graph,
        given,
        [
          [20, 20, 20],
          [0, 0, 0],
        ],
        [0, -40],
      ),
    type,
  );

/** LaMa: green in the hole, from 0 to 255, and the picture elsewhere. */
export const lama = (): Buffer =>
  graphOf(
    [
      { name: 'image', shape: [1, 3, 512, 512] },
      { name: 'mask', shape: [1, 1, 512, 512] },
    ],
    { name: 'output', shape: [1, 3, 512, 512] },
    (graph, [image = '', mask = '']) => {
      const kept = graph.op('Mul', [image, graph.op('Sub', [number(graph, 1), mask])]);
      const green = graph.op('Mul', [mask, graph.constant(float32s(Float32Array.of(0, 0.8, 0), [1, 3, 1, 1]))]);
      return graph.op('Mul', [graph.op('Add', [kept, green]), number(graph, 255)]);
    },
  );

/** SCUNet: half as light; it refuses sides that are no multiples of 64. */
export const scunet = (): Buffer =>
  graphOf([{ name: 'in', shape: [1, 3, 'height', 'width'] }], { name: 'out', shape: [1, 3, 'height', 'width'] }, (graph, [given = '']) => {
    // Blocks of 64 × 64 as channels, and back, which no other size permits.
    const blocks = graph.op('SpaceToDepth', [given], { blocksize: 64 });
    return graph.op('Mul', [graph.op('DepthToSpace', [blocks], { blocksize: 64 }), number(graph, 0.5)]);
  });

/** Spleeter: the voice is what lies below a frequency, and the rest what lies above. @param below of 1,024 frequencies */
export function spleeter(below: number): Readonly<Record<'vocals' | 'accompaniment', Buffer>> {
  const part = (isVoice: boolean) =>
    graphOf([{ name: 'x', shape: [2, 'num_splits', 512, 1024] }], { name: 'y', shape: [2, 'num_splits', 512, 1024] }, (graph, [x = '']) => {
      const shares = Float32Array.from({ length: 1024 }, (_, k) => (k < below === isVoice ? 1 : 0));
      return graph.op('Mul', [x, graph.constant(float32s(shares, [1, 1, 1, 1024]))]);
    });
  return { vocals: part(true), accompaniment: part(false) };
}

/** @param files by name @returns the folder */
export function modelFolder(root: string, id: string, files: Readonly<Record<string, Buffer>>): string {
  const folder = join(root, id);
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}
