/** Graphs of ONNX that we write, run by ONNX Runtime: small ones, and Whisper's with small random weights. */
import { resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { float32s, Graph, int64s } from '../../../../src/exec/models/conversion/onnx.ts';
import { whisperFrom } from '../../../../src/exec/models/conversion/whisper.ts';
import { type LoadedModel, openSession, Tensor } from '../../../../src/exec/programs/inference/session.ts';
import { readVocabulary } from '../../../../src/exec/programs/sound/speech/vocabulary.ts';
import { float16 } from './float16.ts';

const whole = (pieces: readonly Uint8Array[]): Buffer => Buffer.concat(pieces);
const floats = (values: readonly number[], shape: readonly number[]) => new Tensor('float32', Float32Array.from(values), shape);
const run = async (session: LoadedModel, inputs: Record<string, Tensor>, name: string): Promise<number[]> =>
  Array.from((await session.run(inputs))[name]?.data as Float32Array);

describe('a graph', () => {
  it('scales each channel by a constant, for pictures of any size', async () => {
    const graph = new Graph();
    const picture = graph.input({ name: 'picture', type: 'float32', shape: [1, 3, 'height', 'width'] });
    const scales = graph.constant(float32s(Float32Array.of(1, 0.5, -2), [3, 1, 1]));
    graph.output(graph.op('Mul', [picture, scales]), { name: 'scaled', type: 'float32', shape: [1, 3, 'height', 'width'] });
    const session = await openSession(whole(graph.model(17)));
    expect(await run(session, { picture: floats([1, 2, 3, 4, 5, 6], [1, 3, 2, 1]) }, 'scaled')).toEqual([1, 2, 1.5, 2, -10, -12]);
    expect(await run(session, { picture: floats([1, 1, 1], [1, 3, 1, 1]) }, 'scaled')).toEqual([1, 0.5, -2]);
  });

  it('passes on what whole numbers, lists of them and floats say of an operation', async () => {
    const graph = new Graph();
    const rows = graph.input({ name: 'rows', type: 'float32', shape: [2, 3] });
    const turned = graph.op('Transpose', [rows], { perm: [1, 0] });
    const leaky = graph.op('LeakyRelu', [turned], { alpha: { float: 0.25 } });
    const [first = '', rest = ''] = graph.several(2, 'Split', [leaky, graph.constant(int64s([1, 2]))], { axis: 0 });
    graph.output(graph.op('Concat', [rest, first], { axis: -2 }), { name: 'moved', type: 'float32', shape: [3, 2] });
    const session = await openSession(whole(graph.model(17)));
    expect(await run(session, { rows: floats([1, -4, 3, -8, 5, -12], [2, 3]) }, 'moved')).toEqual([-1, 5, 3, -3, 1, -2]);
  });
});

const [WIDTH, WORDS, BANDS] = [128, 50, 8];
/** Weights of one layer each, as CTranslate2 keeps them, from a generator that always gives the same. */
function tinyWeights(bands = BANDS): Buffer {
  let state = 1;
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state / 2 ** 32 - 0.5) * 0.3;
  };
  const shapes: Record<string, readonly number[]> = {
    'decoder/embeddings/weight': [WORDS, WIDTH],
    'decoder/position_encodings/encodings': [20, WIDTH],
    'encoder/conv1/weight': [WIDTH, bands, 3],
    'encoder/conv1/bias': [WIDTH],
    'encoder/conv2/weight': [WIDTH, WIDTH, 3],
    'encoder/conv2/bias': [WIDTH],
    'encoder/position_encodings/encodings': [1500, WIDTH],
  };
  const norm = (name: string) => Object.assign(shapes, { [`${name}/gamma`]: [WIDTH], [`${name}/beta`]: [WIDTH] });
  const linear = (name: string, rows: number, columns = WIDTH) =>
    Object.assign(shapes, { [`${name}/weight`]: [rows, columns], [`${name}/bias`]: [rows] });
  for (const part of ['encoder', 'decoder']) {
    const layer = `${part}/layer_0`;
    for (const name of [`${layer}/self_attention/layer_norm`, `${layer}/ffn/layer_norm`, `${part}/layer_norm`]) norm(name);
    linear(`${layer}/self_attention/linear_0`, 3 * WIDTH);
    linear(`${layer}/self_attention/linear_1`, WIDTH);
    linear(`${layer}/ffn/linear_0`, 2 * WIDTH);
    linear(`${layer}/ffn/linear_1`, WIDTH, 2 * WIDTH);
  }
  norm('decoder/layer_0/attention/layer_norm');
  linear('decoder/layer_0/attention/linear_0', WIDTH);
  linear('decoder/layer_0/attention/linear_1', 2 * WIDTH);
  linear('decoder/layer_0/attention/linear_2', WIDTH);
  const uint32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
  const text = (value: string) => Buffer.concat([Buffer.from(Uint16Array.of(value.length + 1).buffer), Buffer.from(`${value}\0`)]);
  const pieces = [uint32(6), text('WhisperSpec'), uint32(3), uint32(Object.keys(shapes).length)];
  for (const [name, shape] of Object.entries(shapes)) {
    const values = Uint16Array.from({ length: shape.reduce((product, size) => product * size, 1) }, () => float16(random()));
    pieces.push(
      text(name),
      Buffer.of(shape.length),
      ...shape.map(uint32),
      Buffer.of(4),
      uint32(values.byteLength),
      Buffer.from(values.buffer),
    );
  }
  return Buffer.concat([...pieces, uint32(0)]);
}

describe('Whisper', () => {
  let heard: Awaited<ReturnType<LoadedModel['run']>>;
  let decoder: LoadedModel;
  beforeAll(async () => {
    const files = whisperFrom(tinyWeights());
    const encoder = await openSession(whole(files['encoder.onnx']));
    decoder = await openSession(whole(files['decoder.onnx']));
    const samples = Float32Array.from({ length: 480_240 }, (_, i) => Math.sin(i / 5) * Math.sin(i / 4000));
    heard = await encoder.run({ audio: new Tensor('float32', samples, [1, 1, samples.length]) });
  });
  const empty = (texts: number) => new Tensor('float32', new Float32Array(0), [texts, 2, 0, 64]);
  const write = (tokens: readonly (readonly number[])[], past: readonly [Tensor, Tensor] = [empty(tokens.length), empty(tokens.length)]) =>
    decoder.run({
      ...heard,
      tokens: new Tensor('int64', BigInt64Array.from(tokens.flat(), BigInt), [tokens.length, tokens[0]?.length ?? 0]),
      past_k0: past[0],
      past_v0: past[1],
    });
  const near = (values: unknown, expected: unknown) => {
    const [a, b] = [values, expected].map((each) => Array.from(each as Float32Array)) as [number[], number[]];
    expect(a).toHaveLength(b.length);
    for (const [i, each] of a.entries()) expect(each).toBeCloseTo(b[i] as number, 3);
  };

  it('keeps what it hears in keys and values of 1,500 places', () => {
    expect(heard['k0']?.dims).toEqual([1, 2, 64, 1500]);
    expect(heard['v0']?.dims).toEqual([1, 2, 1500, 64]);
    expect(Array.from(heard['v0']?.data as Float32Array).every(Number.isFinite)).toBe(true);
  });

  it('writes the same whether it is given a text at once or piece by piece', async () => {
    const atOnce = await write([[3, 14, 15, 9]]);
    let results = await write([[3]]);
    for (const token of [14, 15, 9]) results = await write([[token]], [results['next_k0'] as Tensor, results['next_v0'] as Tensor]);
    near(results['logits']?.data, atOnce['logits']?.data);
    near(results['next_k0']?.data, atOnce['next_k0']?.data);
    const other = await write([[3, 14, 15, 8]]);
    expect(Array.from(other['logits']?.data as Float32Array)).not.toEqual(Array.from(atOnce['logits']?.data as Float32Array));
  });

  it('writes texts side by side as each alone', async () => {
    const [both, first, second] = [
      await write([
        [1, 2],
        [4, 5],
      ]),
      await write([[1, 2]]),
      await write([[4, 5]]),
    ];
    const logits = both['logits']?.data as Float32Array;
    near(logits.subarray(0, WORDS), first['logits']?.data);
    near(logits.subarray(WORDS), second['logits']?.data);
  });

  it('refuses weights that end too early, and those of another model', () => {
    const weights = tinyWeights();
    expect(() => whisperFrom(weights.subarray(0, 20_000))).toThrow(RangeError);
    expect(() =>
      whisperFrom(Buffer.from(weights.toString('latin1').replace('decoder/embeddings/weight', 'decoder/embeddings/height'), 'latin1')),
    ).toThrow('expected weights of Whisper, received a model without decoder/embeddings/weight');
  });
});

describe('what is special about the largest model', () => {
  it('is heard in 128 bands', async () => {
    const encoder = await openSession(whole(whisperFrom(tinyWeights(128))['encoder.onnx']));
    const audio = new Tensor(
      'float32',
      Float32Array.from({ length: 480_240 }, (_, i) => Math.sin(i / 9)),
      [1, 1, 480_240],
    );
    const heard = await run(encoder, { audio }, 'v0');
    expect([heard.length, heard.every(Number.isFinite), new Set(heard.slice(0, 64)).size > 1]).toEqual([1500 * WIDTH, true, true]);
  });

  it('is one language more, behind all others, which all later pieces make room for', () => {
    const folder = resolve('.cache/models/whisper-base');
    const [base, large] = [readVocabulary(folder), readVocabulary(folder, { cantonese: true })];
    // openai/whisper, tokenizer.py: 99 languages from 50259 on, and Cantonese.
    expect([base.languages.size, base.languages.get('yue'), base.transcribe, base.noSpeech, base.firstTime]).toEqual([
      99,
      undefined,
      50_359,
      50_362,
      50_364,
    ]);
    expect([large.languages.size, large.languages.get('yue'), large.transcribe, large.noSpeech, large.firstTime]).toEqual([
      100, 50_358, 50_360, 50_363, 50_365,
    ]);
    expect(large.languages.get('en')).toBe(base.languages.get('en'));
    expect(large.size).toBe(51_866);
  });
});
