/** Whisper as two graphs: the encoder of 30 s of sound, and the decoder, which tells how likely each piece of text is after those before it. */
import { openSession, Tensor } from '../../inference/session.ts';

/** Hz. */
export const RATE = 16_000;
/** Seconds that are heard at once. */
export const SECONDS = 30;
/** Samples before the first and behind the last of the 30 s, which the first and last spectrum reach. */
const [BEFORE, BEHIND] = [200, 40];
/** Samples that `encode` is given. */
export const HEARD = BEFORE + SECONDS * RATE + BEHIND;
export const HEARD_BEFORE = BEFORE;

/** What the decoder looks up in the sound. */
type Heard = Readonly<Record<string, Tensor>>;
/** State after the pieces so far: the keys and values of each layer, with a row for each text. */
type Past = readonly Tensor[];

/** Texts that are written side by side, each in a row. */
export interface Continued {
  readonly past: Past;
  /** Scores of the next piece, for each text: as many as the vocabulary has pieces. */
  readonly logits: readonly Float32Array[];
}

export interface Whisper {
  /** @param samples of `HEARD`, from -1 to 1 */
  encode(samples: Float32Array): Promise<Heard>;
  /** @param tokens for each text, all of one length @param past of the same texts; unset where they begin */
  decode(heard: Heard, tokens: readonly (readonly number[])[], past?: Past): Promise<Continued>;
  /** Texts that go on from others. @param parents a row of `past` for each new text */
  branch(past: Past, parents: readonly number[]): Past;
}

/** @param folder of the model */
export async function openWhisper(folder: string): Promise<Whisper> {
  const encoder = await openSession(`${folder}/encoder.onnx`);
  const decoder = await openSession(`${folder}/decoder.onnx`);
  const layers = encoder.outputNames.length / 2;
  const names = Array.from({ length: layers }, (_, layer) => [`k${layer}`, `v${layer}`]).flat();
  return {
    encode: async (samples) => (await encoder.run({ audio: new Tensor('float32', samples, [1, 1, HEARD]) })) as Heard,
    decode: async (heard, tokens, past) => {
      const [texts, length] = [tokens.length, tokens[0]?.length ?? 0];
      const ids = BigInt64Array.from(tokens.flat(), BigInt);
      const nothing = (name: string) => {
        const [, heads = 0, ...sizes] = heard[name]?.dims ?? [];
        return new Tensor('float32', new Float32Array(0), [texts, heads, 0, Math.min(...sizes)]);
      };
      const before = past ?? names.map(nothing);
      const results = await decoder.run({
        ...heard,
        tokens: new Tensor('int64', ids, [texts, length]),
        ...Object.fromEntries(names.map((name, i) => [`past_${name}`, before[i] as Tensor])),
      });
      const logits = results['logits']?.data as Float32Array;
      const size = logits.length / texts;
      return {
        past: names.map((name) => results[`next_${name}`] as Tensor),
        logits: tokens.map((_, text) => logits.subarray(text * size, (text + 1) * size)),
      };
    },
    branch: (past, parents) => past.map((each) => rowsOf(each, parents)),
  };
}

function rowsOf(tensor: Tensor, rows: readonly number[]): Tensor {
  const [count = 1, ...shape] = tensor.dims;
  if (rows.length === count && rows.every((row, i) => row === i)) return tensor;
  const data = tensor.data as Float32Array;
  const size = data.length / count;
  const chosen = new Float32Array(rows.length * size);
  for (const [i, row] of rows.entries()) chosen.set(data.subarray(row * size, (row + 1) * size), i * size);
  return new Tensor('float32', chosen, [rows.length, ...shape]);
}
