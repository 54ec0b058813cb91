/** DeepFilterNet 3: from the features of frames it computes a gain for each band, and a filter over time for each of the lower bins. */
import { join } from 'node:path';
import { openSession, Tensor } from '../../inference/session.ts';
import { bandOfBin, type Features, LOUDNESSES, LOW_BINS } from './features.ts';
import { BINS, emptySpectrum, type Spectrum } from './spectrum.ts';

/** Frames behind the one that is filtered, which the model knows. */
export const AHEAD = 2;
/** Frames that a filter has, and how many of them are before its own. */
const [ORDER, BEFORE] = [5, 2];

export interface Heard {
  /** 0 to 1, by frame and band. */
  readonly gains: Float32Array;
  /** Complex, by frame, bin and order. */
  readonly filters: Float32Array;
}

export type VoiceModel = (features: readonly Features[]) => Promise<Heard>;

/** @param folder of the model @returns what hears frames in a row, of which each knows those before it in the same call */
export async function openModel(folder: string): Promise<VoiceModel> {
  const [encoder, bands, filter] = await Promise.all(['enc', 'erb_dec', 'df_dec'].map((name) => openSession(join(folder, `${name}.onnx`))));
  if (encoder === undefined || bands === undefined || filter === undefined) throw new Error('a model without its graphs');
  return async (features) => {
    const count = features.length;
    const loudness = new Float32Array(count * LOUDNESSES);
    const low = new Float32Array(2 * count * LOW_BINS);
    for (const [t, each] of features.entries()) {
      loudness.set(each.loudness, t * LOUDNESSES);
      low.set(each.low.subarray(0, LOW_BINS), t * LOW_BINS);
      low.set(each.low.subarray(LOW_BINS), (count + t) * LOW_BINS);
    }
    const { emb, c0, e0, e1, e2, e3 } = (await encoder.run({
      feat_erb: new Tensor('float32', loudness, [1, 1, count, LOUDNESSES]),
      feat_spec: new Tensor('float32', low, [1, 2, count, LOW_BINS]),
    })) as Record<string, Tensor>;
    if (!emb || !c0 || !e0 || !e1 || !e2 || !e3) throw new Error('a model without its results');
    const [{ m }, { coefs }] = await Promise.all([bands.run({ emb, e3, e2, e1, e0 }), filter.run({ emb, c0 })]);
    return { gains: (m as Tensor).data as Float32Array, filters: (coefs as Tensor).data as Float32Array };
  };
}

/** @param frames their spectra; those that are not there are silent @param from which of them `heard` begins with @param t of `heard` */
export function filtered(frames: readonly Spectrum[], { gains, filters }: Heard, from: number, t: number): Spectrum {
  const { real, imaginary } = emptySpectrum();
  const own = frames[from + t];
  for (let k = LOW_BINS; k < BINS && own !== undefined; k++) {
    const gain = gains[t * LOUDNESSES + (bandOfBin[k] as number)] as number;
    real[k] = (own.real[k] as number) * gain;
    imaginary[k] = (own.imaginary[k] as number) * gain;
  }
  for (let i = 0; i < ORDER; i++) {
    const frame = frames[from + t + i - BEFORE];
    if (frame === undefined) continue;
    for (let k = 0, at = (t * LOW_BINS * ORDER + i) * 2; k < LOW_BINS; k++, at += 2 * ORDER) {
      const [a, b] = [frame.real[k] as number, frame.imaginary[k] as number];
      const [c, d] = [filters[at] as number, filters[at + 1] as number];
      real[k] = (real[k] as number) + a * c - b * d;
      imaginary[k] = (imaginary[k] as number) + a * d + b * c;
    }
  }
  return { real, imaginary };
}
