/**
 * Builds an ONNX model from one of ncnn: https://github.com/Tencent/ncnn/wiki/param-and-model-file-structure. It knows those operations that networks for
 * enlarging pictures have.
 */
import { type ConstantTensor, float32s, Graph, type Port, scalar } from './onnx.ts';

const OPSET = 17;
/** First line of the text, and what precedes weights of 16 bits. */
const MAGIC = '7767517';
const HALF = 0x01306b47;
/** The numbers by which ncnn's operations name what they do: `Eltwise`, `BinaryOp`, `Interp`, and the activation after a convolution. */
const [SUM, ADD, NEAREST, LEAKY_RELU] = [1, 0, 1, 2];
/** Keys of arrays are their number, less this. */
const ARRAY = -23_300;

interface Layer {
  readonly type: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Parameters by number; a list has several values. */
  readonly given: ReadonlyMap<number, readonly number[]>;
}

/** @param joined the text (`.param`) and behind it the weights (`.bin`) @returns the file's pieces by name @throws RangeError for another file */
export function ncnnFrom(joined: Buffer): Readonly<Record<'graph.onnx', readonly Uint8Array[]>> {
  const { layers, end } = layersIn(joined);
  const weights = new Weights(joined, end);
  const graph = new Graph();
  const values = new Map<string, string>();
  const port = (name: string): Port => ({ name, type: 'float32', shape: [1, 3, `${name} height`, `${name} width`] });
  const used = new Set(layers.flatMap(({ inputs }) => inputs));
  for (const layer of layers) {
    const inputs = layer.inputs.map((name) => computed(values, name));
    const value = layer.type === 'Input' ? graph.input(port('picture')) : operation(graph, layer, inputs, weights);
    for (const name of layer.outputs) {
      values.set(name, value);
      if (!used.has(name)) graph.output(value, port('enlarged'));
    }
  }
  weights.end();
  return { 'graph.onnx': graph.model(OPSET) };
}

function computed(values: ReadonlyMap<string, string>, name: string): string {
  const found = values.get(name);
  if (found === undefined) throw new RangeError(`expected a layer before its use: ${name.slice(0, 50)}`);
  return found;
}

/** @returns the layers, and where their text ends */
function layersIn(file: Buffer): { readonly layers: readonly Layer[]; readonly end: number } {
  let at = 0;
  const line = () => {
    const end = file.indexOf('\n', at);
    if (end < 0) throw new RangeError('expected another line of layers');
    const text = file.toString('latin1', at, end).trim();
    at = end + 1;
    return text;
  };
  const magic = line();
  if (magic !== MAGIC) throw new RangeError(`expected a model of ncnn, received "${magic.slice(0, 20)}"`);
  const count = Number(line().split(' ')[0]);
  return { layers: Array.from({ length: count }, () => layerIn(line().split(/\s+/))), end: at };
}

function layerIn([type = '', , inputs = '', outputs = '', ...rest]: readonly string[]): Layer {
  const [first, last] = [Number(inputs), Number(inputs) + Number(outputs)];
  const given = rest.slice(last).map((each) => {
    const [key = '', values = ''] = each.split('=');
    const list = values.split(',').map(Number);
    // A list begins with its length.
    return Number(key) <= ARRAY ? ([ARRAY - Number(key), list.slice(1)] as const) : ([Number(key), list] as const);
  });
  return { type, inputs: rest.slice(0, first), outputs: rest.slice(first, last), given: new Map(given) };
}

function operation(graph: Graph, layer: Layer, inputs: readonly string[], weights: Weights): string {
  const { type, given } = layer;
  const is = (key: number, value: number) => (given.get(key)?.[0] ?? 0) === value;
  const [first = ''] = inputs;
  if (type === 'Split') return first;
  if (type === 'Convolution') return convolution(graph, given, first, weights);
  if (type === 'Concat' && is(0, 0)) return graph.op('Concat', inputs, { axis: 1 });
  if (type === 'BinaryOp' && is(0, ADD)) return graph.op('Add', inputs);
  if (type === 'Interp' && is(0, NEAREST)) {
    const scales = [1, 1, ...(given.get(1) ?? []), ...(given.get(2) ?? [])];
    // The nearest pixel is what ONNX takes unless told otherwise.
    return graph.op('Resize', [first, '', graph.constant(float32s(Float32Array.from(scales), [scales.length]))]);
  }
  if (type === 'Eltwise' && is(0, SUM)) {
    const factors = given.get(1) ?? [];
    const parts = inputs.map((input, i) =>
      (factors[i] ?? 1) === 1 ? input : graph.op('Mul', [input, graph.constant(scalar(factors[i] as number))]),
    );
    return parts.reduce((sum, part) => graph.op('Add', [sum, part]));
  }
  throw new RangeError(`expected known layers, received one of type ${type.slice(0, 50)}`);
}

function convolution(graph: Graph, given: Layer['given'], input: string, weights: Weights): string {
  const one = (key: number, otherwise = 0) => given.get(key)?.[0] ?? otherwise;
  const [outputs, side, padding, count] = [one(0), one(1), one(4), one(6)];
  if (one(2, 1) !== 1 || one(3, 1) !== 1 || one(5) !== 1)
    throw new RangeError('expected convolutions with a bias, without stride or dilation');
  const kernel = weights.halves(count, [outputs, count / outputs / side ** 2, side, side]);
  const bias = weights.floats(outputs);
  // As 32-bit floats: ONNX Runtime does this once, when it loads the model.
  const wide = graph.op('Cast', [graph.constant(kernel)], { to: 1 });
  const result = graph.op('Conv', [input, wide, graph.constant(bias)], { pads: [padding, padding, padding, padding] });
  const activation = one(9);
  if (activation === 0) return result;
  if (activation !== LEAKY_RELU) throw new RangeError(`expected leaky rectifiers, received activation ${activation}`);
  return graph.op('LeakyRelu', [result], { alpha: { float: given.get(10)?.[0] ?? 0 } });
}

/** They lie in the order of the layers. */
class Weights {
  readonly #file: Buffer;
  #at: number;

  constructor(file: Buffer, at: number) {
    this.#file = file;
    this.#at = at;
  }

  halves(count: number, shape: readonly number[]): ConstantTensor {
    const flag = this.#file.readUInt32LE(this.#at);
    if (flag !== HALF) throw new RangeError('expected weights of 16 bits');
    this.#at += 4;
    const bytes = this.#take(count * 2);
    // Aligned to 4 bytes.
    this.#at += bytes.length % 4;
    return { type: 'float16', shape, bytes };
  }

  floats(count: number): ConstantTensor {
    return { type: 'float32', shape: [count], bytes: this.#take(count * 4) };
  }

  #take(length: number): Uint8Array {
    const bytes = this.#file.subarray(this.#at, this.#at + length);
    if (bytes.length < length) throw new RangeError('expected more weights: the file is too short');
    this.#at += length;
    return bytes;
  }

  end(): void {
    if (this.#at !== this.#file.length) throw new RangeError(`expected ${this.#at} bytes, received ${this.#file.length}`);
  }
}
