/**
 * Writes models in the format of ONNX: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, of which only what our graphs have. Messages are lists of
 * pieces, so that no weight is copied.
 */

/** Values of TensorProto.DataType. */
const TYPES = { float32: 1, int64: 7, float16: 10 } as const;
export type ElementType = keyof typeof TYPES;

export interface ConstantTensor {
  readonly type: ElementType;
  readonly shape: readonly number[];
  /** Little-endian, row by row. */
  readonly bytes: Uint8Array;
}

/** A dimension that the caller chooses has a name. */
export interface Port {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly (number | string)[];
}

/** Attributes of a node, by their type here: whole numbers are INT, lists of them INTS, `float` is FLOAT. */
export type Attribute = number | readonly number[] | { readonly float: number };

/** Bytes in order. */
type Pieces = readonly Uint8Array[];

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  // Negative numbers are written as 64 bits of two's complement.
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Uint8Array.from(bytes);
}

const lengthOf = (pieces: Pieces): number => pieces.reduce((sum, piece) => sum + piece.length, 0);
const whole = (field: number, value: number): Pieces => [varint(field << 3), varint(value)];
const inside = (field: number, pieces: Pieces): Pieces => [varint((field << 3) | 2), varint(lengthOf(pieces)), ...pieces];
const words = (field: number, text: string): Pieces => inside(field, [Buffer.from(text)]);

function float(field: number, value: number): Pieces {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return [varint((field << 3) | 5), bytes];
}

function attribute(name: string, value: Attribute): Pieces {
  const typed = (type: number, pieces: Pieces) => inside(5, [...words(1, name), ...pieces, ...whole(20, type)]);
  if (typeof value === 'number') return typed(2, whole(3, value));
  if ('float' in value) return typed(1, float(2, value.float));
  return typed(
    7,
    value.flatMap((each) => whole(8, each)),
  );
}

const tensor = (name: string, { type, shape, bytes }: ConstantTensor): Pieces => [
  ...shape.flatMap((size) => whole(1, size)),
  ...whole(2, TYPES[type]),
  ...words(8, name),
  ...inside(9, [bytes]),
];

function port({ name, type, shape }: Port): Pieces {
  const dimensions = shape.flatMap((size) => inside(1, typeof size === 'number' ? whole(1, size) : words(2, size)));
  return [...words(1, name), ...inside(2, inside(1, [...whole(1, TYPES[type]), ...inside(2, dimensions)]))];
}

/** A graph that is built from its inputs to its outputs. Values are told apart by their names. */
export class Graph {
  readonly #nodes: Uint8Array[] = [];
  readonly #tensors: Uint8Array[] = [];
  readonly #inputs: Uint8Array[] = [];
  readonly #outputs: Uint8Array[] = [];
  #count = 0;

  input(given: Port): string {
    this.#inputs.push(...inside(11, port(given)));
    return given.name;
  }

  output(from: string, given: Port): void {
    this.#node('Identity', [from], [given.name], {});
    this.#outputs.push(...inside(12, port(given)));
  }

  constant(value: ConstantTensor): string {
    const name = this.#named();
    this.#tensors.push(...inside(5, tensor(name, value)));
    return name;
  }

  /** @returns its only result */
  op(type: string, inputs: readonly string[], attributes: Readonly<Record<string, Attribute>> = {}): string {
    return this.several(1, type, inputs, attributes)[0] as string;
  }

  several(results: number, type: string, inputs: readonly string[], attributes: Readonly<Record<string, Attribute>> = {}): string[] {
    const outputs = Array.from({ length: results }, () => this.#named());
    this.#node(type, inputs, outputs, attributes);
    return outputs;
  }

  #named(): string {
    this.#count += 1;
    return `#${this.#count}`;
  }

  #node(type: string, inputs: readonly string[], outputs: readonly string[], attributes: Readonly<Record<string, Attribute>>): void {
    this.#nodes.push(
      ...inside(1, [
        ...inputs.flatMap((name) => words(1, name)),
        ...outputs.flatMap((name) => words(2, name)),
        ...words(4, type),
        ...Object.entries(attributes).flatMap(([name, value]) => attribute(name, value)),
      ]),
    );
  }

  /** @param opset version of ONNX's operators @returns the file, in pieces */
  model(opset: number): Pieces {
    const graph = [...this.#nodes, ...words(2, 'filemill'), ...this.#tensors, ...this.#inputs, ...this.#outputs];
    // The version of the format that came with opset 17 (onnx.proto, IR_VERSION).
    return [...whole(1, 8), ...inside(7, graph), ...inside(8, whole(2, opset))];
  }
}

export const float32s = (values: Float32Array, shape: readonly number[]): ConstantTensor => ({
  type: 'float32',
  shape,
  bytes: new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
});

export const int64s = (values: readonly number[], shape: readonly number[] = [values.length]): ConstantTensor => ({
  type: 'int64',
  shape,
  bytes: new Uint8Array(BigInt64Array.from(values, BigInt).buffer),
});

export const scalar = (value: number): ConstantTensor => float32s(Float32Array.of(value), []);
