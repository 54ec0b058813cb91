/**
 * Builds ONNX models of Whisper from its weights as CTranslate2 keeps them.
 *
 * Whisper is a transformer of an encoder, which is given 30 s of sound, and a decoder, which tells the next piece of text from those before it:
 * https://arxiv.org/abs/2212.04356, whose figure 1 these graphs follow. The spectrogram is a part of the encoder's graph, and what the decoder looks
 * up in the sound (keys and values of its cross-attention) is a result of the encoder.
 */
import { readWeights } from './ctranslate2.ts';
import { type ConstantTensor, float32s, Graph, int64s, type Port, scalar } from './onnx.ts';

const OPSET = 17;
/** Hz. */
const RATE = 16_000;
/** Samples of a spectrum, and from one to the next. */
const [WINDOW, HOP] = [400, 160];
const FRAMES = 3000;
const BINS = WINDOW / 2 + 1;
/** Samples that one run is given: 30 s, and half a window before and behind, less one hop. */
export const SAMPLES = (FRAMES - 1) * HOP + WINDOW;
/** Pairs of frames, which the second convolution joins. */
const POSITIONS = FRAMES / 2;
const HEAD = 64;

/** @param weights a whole `model.bin` @returns the files' pieces by name */
export function whisperFrom(weights: Buffer): Readonly<Record<'encoder.onnx' | 'decoder.onnx', readonly Uint8Array[]>> {
  const read = new Weights(readWeights(weights));
  return { 'encoder.onnx': encoder(read), 'decoder.onnx': decoder(read) };
}

class Weights {
  readonly #tensors: ReadonlyMap<string, ConstantTensor>;

  constructor(tensors: ReadonlyMap<string, ConstantTensor>) {
    this.#tensors = tensors;
  }

  of(name: string): ConstantTensor {
    const found = this.#tensors.get(name);
    if (found === undefined) throw new RangeError(`expected weights of Whisper, received a model without ${name}`);
    return found;
  }

  has(name: string): boolean {
    return this.#tensors.has(name);
  }

  layersOf(part: 'encoder' | 'decoder'): readonly string[] {
    const layers: string[] = [];
    while (this.has(`${part}/layer_${layers.length}/ffn/linear_0/weight`)) layers.push(`${part}/layer_${layers.length}`);
    return layers;
  }
}

/** Rows as columns, of 16-bit values. */
function transposed({ type, shape: [rows = 0, columns = 0], bytes }: ConstantTensor): ConstantTensor {
  const from = new Uint16Array(new Uint8Array(bytes).buffer);
  const to = new Uint16Array(from.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) to[column * rows + row] = from[row * columns + column] as number;
  return { type, shape: [columns, rows], bytes: new Uint8Array(to.buffer) };
}

/** What both graphs have: layers of a transformer. */
class Layers {
  readonly graph = new Graph();
  readonly weights: Weights;

  constructor(weights: Weights) {
    this.weights = weights;
  }

  /** As 32-bit floats: ONNX Runtime does this once, when it loads the model. */
  weight(tensor: ConstantTensor): string {
    return this.wide(this.graph.constant(tensor));
  }

  wide(value: string): string {
    return this.graph.op('Cast', [value], { to: 1 });
  }

  named(name: string): string {
    return this.weight(this.weights.of(name));
  }

  number(value: number): string {
    return this.graph.constant(scalar(value));
  }

  /** Gauss' error linear unit, exact: x (1 + erf(x / √2)) / 2. */
  gelu(x: string): string {
    const erf = this.graph.op('Erf', [this.graph.op('Div', [x, this.number(Math.SQRT2)])]);
    return this.graph.op('Mul', [this.graph.op('Mul', [x, this.graph.op('Add', [erf, this.number(1)])]), this.number(0.5)]);
  }

  norm(x: string, name: string): string {
    return this.graph.op('LayerNormalization', [x, this.named(`${name}/gamma`), this.named(`${name}/beta`)], {
      axis: -1,
      epsilon: { float: 1e-5 },
    });
  }

  linear(x: string, name: string): string {
    const product = this.graph.op('MatMul', [x, this.weight(transposed(this.weights.of(`${name}/weight`)))]);
    return this.weights.has(`${name}/bias`) ? this.graph.op('Add', [product, this.named(`${name}/bias`)]) : product;
  }

  /** Batch, positions and values as batch, heads, positions and values of a head. @param order of the four: 0 2 3 1 for keys */
  heads(x: string, order: readonly number[] = [0, 2, 1, 3]): string {
    const apart = this.graph.op('Reshape', [x, this.graph.constant(int64s([0, 0, -1, HEAD]))]);
    return this.graph.op('Transpose', [apart], { perm: order });
  }

  /** @param keys batch, heads, values of a head, positions @param mask added to what positions have in common */
  attention(query: string, keys: string, values: string, mask?: string): string {
    const scaled = this.graph.op('Mul', [query, this.number(HEAD ** -0.5)]);
    const alike = this.graph.op('MatMul', [scaled, keys]);
    const masked = mask === undefined ? alike : this.graph.op('Add', [alike, mask]);
    const shares = this.graph.op('Softmax', [masked], { axis: -1 });
    const mixed = this.graph.op('Transpose', [this.graph.op('MatMul', [shares, values])], { perm: [0, 2, 1, 3] });
    return this.graph.op('Reshape', [mixed, this.graph.constant(int64s([0, 0, -1]))]);
  }

  split(x: string, parts: number): string[] {
    return this.graph.several(parts, 'Split', [x], { axis: -1 });
  }

  feedForward(x: string, layer: string): string {
    const hidden = this.gelu(this.linear(this.norm(x, `${layer}/ffn/layer_norm`), `${layer}/ffn/linear_0`));
    return this.graph.op('Add', [x, this.linear(hidden, `${layer}/ffn/linear_1`)]);
  }
}

/** Keys and values of one layer of the decoder. @param rows what is not known before: positions */
function ports(
  prefix: string,
  layer: number,
  heads: number,
  rows: number | string,
  batch: number | string,
  keysLast: boolean,
): [Port, Port] {
  const [keys, values] = [keysLast ? [batch, heads, HEAD, rows] : [batch, heads, rows, HEAD], [batch, heads, rows, HEAD]];
  return [
    { name: `${prefix}k${layer}`, type: 'float32', shape: keys },
    { name: `${prefix}v${layer}`, type: 'float32', shape: values },
  ];
}

const headsOf = (weights: Weights): number => (weights.of('decoder/layer_0/attention/linear_0/weight').shape[0] ?? 0) / HEAD;

function encoder(weights: Weights): readonly Uint8Array[] {
  const build = new Layers(weights);
  const { graph } = build;
  const audio = graph.input({ name: 'audio', type: 'float32', shape: [1, 1, SAMPLES] });
  let x = spectrogram(build, audio, weights.of('encoder/conv1/weight').shape[1] ?? 0);
  for (const [name, stride] of [
    ['conv1', 1],
    ['conv2', 2],
  ] as const) {
    const inputs = [x, build.named(`encoder/${name}/weight`), build.named(`encoder/${name}/bias`)];
    x = build.gelu(graph.op('Conv', inputs, { kernel_shape: [3], strides: [stride], pads: [1, 1] }));
  }
  x = graph.op('Add', [graph.op('Transpose', [x], { perm: [0, 2, 1] }), build.named('encoder/position_encodings/encodings')]);
  for (const layer of weights.layersOf('encoder')) {
    const name = `${layer}/self_attention`;
    const [query = '', keys = '', values = ''] = build.split(build.linear(build.norm(x, `${name}/layer_norm`), `${name}/linear_0`), 3);
    const mixed = build.attention(build.heads(query), build.heads(keys, [0, 2, 3, 1]), build.heads(values));
    x = build.feedForward(graph.op('Add', [x, build.linear(mixed, `${name}/linear_1`)]), layer);
  }
  x = build.norm(x, 'encoder/layer_norm');
  for (const [index, layer] of weights.layersOf('decoder').entries()) {
    const [keys = '', values = ''] = build.split(build.linear(x, `${layer}/attention/linear_1`), 2);
    const [k, v] = ports('', index, headsOf(weights), POSITIONS, 1, true);
    graph.output(build.heads(keys, [0, 2, 3, 1]), k);
    graph.output(build.heads(values), v);
  }
  return graph.model(OPSET);
}

/** The logarithm of what each band of the mel scale has, in the same range for every recording. @param bands 80, or 128 of the largest model */
function spectrogram(build: Layers, audio: string, bands: number): string {
  const { graph } = build;
  const waves = graph.op('Conv', [audio, graph.constant(fourier())], { kernel_shape: [WINDOW], strides: [HOP] });
  const [real = '', imaginary = ''] = graph.several(2, 'Split', [waves], { axis: 1 });
  const power = graph.op('Add', [graph.op('Mul', [real, real]), graph.op('Mul', [imaginary, imaginary])]);
  const mel = graph.op('MatMul', [graph.constant(melFilters(bands)), power]);
  const log = graph.op('Div', [graph.op('Log', [graph.op('Max', [mel, build.number(1e-10)])]), build.number(Math.LN10)]);
  const loudest = graph.op('ReduceMax', [log], { keepdims: 1 });
  const clipped = graph.op('Max', [log, graph.op('Sub', [loudest, build.number(8)])]);
  return graph.op('Div', [graph.op('Add', [clipped, build.number(4)]), build.number(4)]);
}

/** Cosines and sines under Hann's window, as a convolution: the discrete Fourier transform of each window. */
function fourier(): ConstantTensor {
  const values = new Float32Array(2 * BINS * WINDOW);
  for (let bin = 0; bin < BINS; bin++)
    for (let i = 0; i < WINDOW; i++) {
      const hann = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / WINDOW);
      const angle = (2 * Math.PI * ((bin * i) % WINDOW)) / WINDOW;
      values[bin * WINDOW + i] = hann * Math.cos(angle);
      values[(BINS + bin) * WINDOW + i] = -hann * Math.sin(angle);
    }
  return float32s(values, [2 * BINS, 1, WINDOW]);
}

/** The mel scale of Slaney's Auditory Toolbox (1998): linear to 1 kHz, logarithmic above. */
const [LINEAR_HZ, BREAK_HZ] = [200 / 3, 1000];
const STEP = Math.log(6.4) / 27;
const hertzOf = (mel: number): number =>
  mel < BREAK_HZ / LINEAR_HZ ? mel * LINEAR_HZ : BREAK_HZ * Math.exp(STEP * (mel - BREAK_HZ / LINEAR_HZ));
const melOf = (hertz: number): number => (hertz < BREAK_HZ ? hertz / LINEAR_HZ : BREAK_HZ / LINEAR_HZ + Math.log(hertz / BREAK_HZ) / STEP);

/** Triangles of equal area, each from the peak of the one before to that of the one behind. */
function melFilters(bands: number): ConstantTensor {
  const highest = melOf(RATE / 2);
  const edges = Array.from({ length: bands + 2 }, (_, i) => hertzOf((highest * i) / (bands + 1)));
  const values = new Float32Array(bands * BINS);
  for (let band = 0; band < bands; band++) {
    const [low = 0, peak = 0, high = 0] = edges.slice(band, band + 3);
    for (let bin = 0; bin < BINS; bin++) {
      const hertz = (bin * RATE) / WINDOW;
      const height = Math.max(0, Math.min((hertz - low) / (peak - low), (high - hertz) / (high - peak)));
      values[band * BINS + bin] = (height * 2) / (high - low);
    }
  }
  return float32s(values, [bands, BINS]);
}

/** The pieces of text so far, beside those that earlier runs were given, to how likely each piece is the next one. */
function decoder(weights: Weights): readonly Uint8Array[] {
  const build = new Layers(weights);
  const { graph } = build;
  const heads = headsOf(weights);
  const layers = weights.layersOf('decoder');
  const tokens = graph.input({ name: 'tokens', type: 'int64', shape: ['batch', 'new'] });
  const past = layers.map((_, layer) => ports('past_', layer, heads, 'before', 'batch', false).map((each) => graph.input(each)));
  const cross = layers.map((_, layer) => ports('', layer, heads, POSITIONS, 1, true).map((each) => graph.input(each)));
  const pieces = weights.of('decoder/embeddings/weight');
  const embeddings = graph.constant(pieces);

  const one = (value: number) => graph.constant(int64s([value]));
  const lone = (value: number) => graph.constant(int64s([value], []));
  const sizeOf = (value: string, axis: number) => graph.op('Gather', [graph.op('Shape', [value]), lone(axis)]);
  const before = sizeOf(past[0]?.[0] ?? '', 2);
  const behind = graph.op('Add', [before, sizeOf(tokens, 1)]);
  const unsqueezed = (value: string, axis: number) => graph.op('Unsqueeze', [value, one(axis)]);

  const rows = graph.op('Range', [before, behind, lone(1)]);
  const columns = graph.op('Range', [lone(0), behind, lone(1)]);
  const isLater = graph.op('Greater', [unsqueezed(columns, 0), unsqueezed(rows, 1)]);
  const mask = graph.op('Where', [isLater, build.number(-1e9), build.number(0)]);

  const places = graph.op('Gather', [build.named('decoder/position_encodings/encodings'), rows]);
  let x = graph.op('Add', [build.wide(graph.op('Gather', [embeddings, tokens])), places]);
  for (const [index, layer] of layers.entries()) {
    const own = `${layer}/self_attention`;
    const [query = '', keys = '', values = ''] = build.split(build.linear(build.norm(x, `${own}/layer_norm`), `${own}/linear_0`), 3);
    const [pastKeys = '', pastValues = ''] = past[index] ?? [];
    const allKeys = graph.op('Concat', [pastKeys, build.heads(keys)], { axis: 2 });
    const allValues = graph.op('Concat', [pastValues, build.heads(values)], { axis: 2 });
    const [k, v] = ports('next_', index, heads, 'all', 'batch', false);
    graph.output(allKeys, k);
    graph.output(allValues, v);
    const turned = graph.op('Transpose', [allKeys], { perm: [0, 1, 3, 2] });
    x = graph.op('Add', [x, build.linear(build.attention(build.heads(query), turned, allValues, mask), `${own}/linear_1`)]);
    const other = `${layer}/attention`;
    const [crossKeys = '', crossValues = ''] = cross[index] ?? [];
    const asked = build.heads(build.linear(build.norm(x, `${other}/layer_norm`), `${other}/linear_0`));
    x = graph.op('Add', [x, build.linear(build.attention(asked, crossKeys, crossValues), `${other}/linear_2`)]);
    x = build.feedForward(x, layer);
  }
  const last = graph.op('Gather', [x, lone(-1)], { axis: 1 });
  const likely = graph.op('Gemm', [build.norm(last, 'decoder/layer_norm'), build.wide(embeddings)], { transB: 1 });
  graph.output(likely, { name: 'logits', type: 'float32', shape: ['batch', pieces.shape[0] ?? 0] });
  return graph.model(OPSET);
}
