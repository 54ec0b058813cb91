/**
 * Takes what is not speech out of a recording, by the model DeepFilterNet 3.
 *
 *   denoise.ts --deepfilternet3=FOLDER SOUND.wav MOST-SECONDS
 *
 * The file has 48 kHz, and gets the result in its place: two copies of half an hour of 5.1 would not fit. Each channel is processed separately. Where
 * hardly any speech was found, a warning says so. See `inference/serve.ts`.
 */

import { beyond } from '../data/values/value.ts';
import { folderOf } from '../inference/arguments.ts';
import { type ModelProgram, serve } from '../inference/serve.ts';
import { FeatureExtractor } from './denoise/features.ts';
import { AHEAD, filtered, openModel, type VoiceModel } from './denoise/model.ts';
import { Recording } from './denoise/recording.ts';
import { addSamples, HEARD_RATE, HOP, SIZE, type Spectrum, spectrumOf } from './denoise/spectrum.ts';

/** Frames that are heard at once, and those before them that are heard again: the model remembers about as long. */
const [PIECE, RUN_UP] = [1000, 200];
/** Speech has a larger share of the power of a recording that is worth it. */
const LEAST_SPEECH = 0.03;

/** @returns the power of one channel before and after */
async function denoise(
  recording: Recording,
  channel: number,
  model: VoiceModel,
  progress: (fraction: number) => void,
): Promise<[number, number]> {
  const extractor = new FeatureExtractor();
  // Frame t is of the samples from (t - 1) × HOP on.
  const count = Math.ceil(recording.frames / HOP) + 1;
  let first = 0;
  let spectra: Spectrum[] = [];
  let features: ReturnType<FeatureExtractor['extract']>[] = [];
  /** The half of the last frame that the next one is added to. */
  let rest = new Float32Array(HOP);
  let tail = new Float32Array(HOP);
  let [before, after] = [0, 0];
  for (let start = 0; start < count; start += PIECE) {
    const end = Math.min(count, start + PIECE);
    const [heard, wanted] = [first + spectra.length, end + 2 * AHEAD];
    const samples = recording.read(channel, heard * HOP, (wanted - heard) * HOP);
    for (let t = heard; t < wanted; t++) {
      const frame = new Float32Array(SIZE);
      frame.set(tail);
      tail = samples.slice((t - heard) * HOP, (t - heard + 1) * HOP);
      frame.set(tail, HOP);
      for (const sample of tail) before += sample ** 2;
      const spectrum = spectrumOf(frame);
      spectra.push(spectrum);
      features.push(extractor.extract(spectrum));
    }
    // The model filters a frame when it has the features of AHEAD frames more.
    const from = Math.max(0, start - RUN_UP);
    const found = await model(features.slice(from - first + AHEAD, end - first + AHEAD));
    const result = new Float32Array((end - start + 1) * HOP);
    result.set(rest);
    for (let t = start; t < end; t++) addSamples(filtered(spectra, found, from - first, t - from), result, (t - start) * HOP);
    rest = result.slice((end - start) * HOP);
    // The first half of the first frame is before the recording.
    const ready = result.subarray(start === 0 ? HOP : 0, (end - start) * HOP);
    for (const sample of ready) after += sample ** 2;
    recording.write(channel, Math.max(0, start - 1) * HOP, ready);
    const kept = Math.max(0, end - RUN_UP - AHEAD);
    spectra = spectra.slice(kept - first);
    features = features.slice(kept - first);
    first = kept;
    progress(end / count);
  }
  return [before, after];
}

const work: ModelProgram['work'] = async ([path = '', longest = ''], progress) => {
  const recording = new Recording(path);
  const seconds = Math.floor(recording.frames / HEARD_RATE);
  if (seconds > Number(longest)) throw beyond('seconds', Number(longest));
  const model = await openModel(folderOf('deepfilternet3'));
  const heard = Array.from({ length: recording.channels }, (_, channel) => channel).filter((channel) => channel !== recording.low);
  let [before, after] = [0, 0];
  for (const [at, channel] of heard.entries()) {
    const [was, is] = await denoise(recording, channel, model, (fraction) => progress((at + fraction) / heard.length));
    before += was;
    after += is;
  }
  recording.close();
  const message = 'Hardly any speech was found in the recording. For music and other sounds, send model=classical.';
  return after < LEAST_SPEECH * before ? [{ code: 'little_speech', message }] : [];
};

await serve({ name: 'denoise', version: '1.0', work });
