/**
 * Takes what is not speech out of a recording, by the model DeepFilterNet 3.
 *
 *   denoise.ts --deepfilternet3=FOLDER SOUND.wav MOST-SECONDS
 *
 * The file has 48 kHz, and gets the result in its place: two copies of half an hour of 5.1 would not fit. Each channel is heard by itself. Prints `progress 0.5` and the like, and a warning as one line of JSON, as residents answer, where hardly any speech was found.
 */
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { Listener } from './denoise/features.ts';
import { AHEAD, filtered, openModel, type VoiceModel } from './denoise/model.ts';
import { addSamples, HEARD_RATE, HOP, SIZE, type Spectrum, spectrumOf } from './denoise/spectrum.ts';
import { answering } from './values/answer.ts';
import { beyond } from './values/value.ts';

/** Of what is printed with `--version`: the results differ between versions. */
const VERSION = '1.0';
/** Frames that are heard at once, and those before them that are heard again: the model remembers about as long. */
const [PIECE, RUN_UP] = [1000, 200];
/** Speech has a larger share of the power of a recording that is worth it. */
const LEAST_SPEECH = 0.03;

/** Loudspeakers by the bits of a channel mask (WAVEFORMATEXTENSIBLE, `dwChannelMask`): the one for low frequencies alone carries no speech. */
const LOW_FREQUENCIES = 1 << 3;
/** Nobody records louder, where full scale is 1. */
const LOUDEST = 8;

class Recording {
  /** Samples of each channel. */
  readonly frames: number;
  readonly channels: number;
  /** The channel for low frequencies alone. */
  readonly low: number | undefined;
  readonly #file: number;
  readonly #start: number;
  readonly #width: number;

  /** @param path of a WAV file as FFmpeg writes it, with samples of 16 bits, or of 32 bits as floats */
  constructor(path: string) {
    this.#file = openSync(path, 'r+');
    const head = Buffer.alloc(HEAD_BYTES);
    readSync(this.#file, head, 0, head.length, 0);
    const [format, data] = ['fmt ', 'data'].map((name) => chunkIn(head, name));
    if (format === undefined || data === undefined) throw new Error('expected a WAV file');
    this.channels = head.readUInt16LE(format + 2);
    this.#width = head.readUInt16LE(format + 14) / 8;
    const mask = head.readUInt16LE(format) === EXTENSIBLE ? head.readUInt32LE(format + 20) : 0;
    // Channels are in the order of their bits.
    const before = [0, 1, 2].filter((bit) => (mask & (1 << bit)) !== 0).length;
    this.low = (mask & LOW_FREQUENCIES) === 0 ? undefined : before;
    this.#start = data;
    this.frames = Math.floor((fstatSync(this.#file).size - data) / (this.channels * this.#width));
  }

  /** Samples of one channel from -1 to 1; silence behind the end, and where a sample is no number. */
  read(channel: number, from: number, count: number): Float32Array {
    const bytes = this.#bytes(from, Math.max(0, Math.min(this.frames - from, count)));
    const samples = new Float32Array(count);
    for (let i = 0, at = channel * this.#width; at < bytes.length; i++, at += this.channels * this.#width) {
      const sample = this.#width === 4 ? bytes.readFloatLE(at) : bytes.readInt16LE(at) / 32_768;
      samples[i] = Number.isFinite(sample) ? Math.max(-LOUDEST, Math.min(LOUDEST, sample)) : 0;
    }
    return samples;
  }

  write(channel: number, from: number, samples: Float32Array): void {
    const bytes = this.#bytes(from, Math.max(0, Math.min(this.frames - from, samples.length)));
    for (let i = 0, at = channel * this.#width; at < bytes.length; i++, at += this.channels * this.#width) {
      const sample = samples[i] as number;
      if (this.#width === 4) bytes.writeFloatLE(sample, at);
      else bytes.writeInt16LE(Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768))), at);
    }
    const to = this.#placeOf(from);
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#file, bytes, done, bytes.length - done, to + done);
  }

  #placeOf(frame: number): number {
    return this.#start + frame * this.channels * this.#width;
  }

  #bytes(from: number, count: number): Buffer {
    const bytes = Buffer.alloc(count * this.channels * this.#width);
    readSync(this.#file, bytes, 0, bytes.length, this.#placeOf(from));
    return bytes;
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** FFmpeg's head of a WAV file is some hundred bytes. */
const HEAD_BYTES = 4096;
const EXTENSIBLE = 0xfffe;

/** @returns where the content of a chunk begins */
function chunkIn(head: Buffer, wanted: string): number | undefined {
  for (let at = 12; at + 8 <= head.length; at += 8 + head.readUInt32LE(at + 4) + (head.readUInt32LE(at + 4) % 2))
    if (head.toString('latin1', at, at + 4) === wanted) return at + 8;
  return undefined;
}

/** @returns the power of one channel before and after */
async function denoise(
  recording: Recording,
  channel: number,
  model: VoiceModel,
  progress: (fraction: number) => void,
): Promise<[number, number]> {
  const listener = new Listener();
  // Frame t is of the samples from (t - 1) × HOP on.
  const count = Math.ceil(recording.frames / HOP) + 1;
  let first = 0;
  let spectra: Spectrum[] = [];
  let features: ReturnType<Listener['hear']>[] = [];
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
      features.push(listener.hear(spectrum));
    }
    // What is told of a frame is told AHEAD frames late.
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

async function denoiseAll([path = '', longest = '']: readonly string[], folder: string) {
  const recording = new Recording(path);
  const seconds = Math.floor(recording.frames / HEARD_RATE);
  if (seconds > Number(longest)) throw beyond('seconds', Number(longest));
  const model = await openModel(folder);
  const heard = Array.from({ length: recording.channels }, (_, channel) => channel).filter((channel) => channel !== recording.low);
  let [before, after] = [0, 0];
  for (const [at, channel] of heard.entries()) {
    const [was, is] = await denoise(recording, channel, model, (fraction) =>
      process.stdout.write(`progress ${((at + fraction) / heard.length).toFixed(3)}\n`),
    );
    before += was;
    after += is;
  }
  recording.close();
  const message = 'Hardly any speech was found in the recording. For music and other sounds, send model=classical.';
  return after < LEAST_SPEECH * before ? [{ code: 'little_speech', message }] : [];
}

const args = process.argv.slice(2);
const prefix = '--deepfilternet3=';
const folder = args.find((each) => each.startsWith(prefix))?.slice(prefix.length) ?? '';
if (args.includes('--version')) process.stdout.write(`denoise ${VERSION}\n`);
else
  await answering(() =>
    denoiseAll(
      args.filter((each) => !each.startsWith('--')),
      folder,
    ),
  );
