/** Two models that tell a voice and the rest from a song's frequencies (Hennequin and others, "Spleeter", 2020), and what is left to the voice by both. */
import { join } from 'node:path';
import { openSession } from '../../inference/session.ts';
import { floatsIn, floatTensor } from '../../inference/tensors.ts';

/** Pieces in a row, and frequencies of each from 0 Hz, that the models see: 12 s, and up to 11 kHz. */
export const [FRAMES, SEEN] = [512, 1024];
/** Where neither hears anything, both get half. */
const LEAST = 1e-10;

/** @param magnitudes of the left channel's pieces, frequency by frequency, and of the right one's @returns the voice's share of each, 0 to 1 */
export type VoiceShares = (magnitudes: Float32Array) => Promise<Float32Array>;

/** @param folder of the model */
export async function openStems(folder: string): Promise<VoiceShares> {
  const [voice, rest] = await Promise.all(['vocals', 'accompaniment'].map((name) => openSession(join(folder, `${name}.fp16.onnx`))));
  if (voice === undefined || rest === undefined) throw new Error('a model without its graphs');
  return async (magnitudes) => {
    const found: Float32Array[] = [];
    // One after the other: each takes a gigabyte.
    for (const { inputs, outputNames, run } of [voice, rest]) {
      const input = floatTensor(inputs[0]?.type, magnitudes, [2, 1, FRAMES, SEEN]);
      found.push(floatsIn((await run({ [inputs[0]?.name ?? '']: input }))[outputNames[0] ?? '']));
    }
    const [a, b] = found as [Float32Array, Float32Array];
    if (a.length !== magnitudes.length || b.length !== magnitudes.length)
      throw new Error(`expected ${magnitudes.length} samples of the model, received ${a.length}`);
    return a.map((value, i) => (value ** 2 + LEAST / 2) / (value ** 2 + (b[i] as number) ** 2 + LEAST));
  };
}
