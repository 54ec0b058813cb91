/**
 * Splits a song into vocals and the rest by the model Spleeter.
 *
 *   stems.ts --spleeter-2stems=FOLDER SOUND.raw VOCALS.raw
 *
 * Both are interleaved stereo of 16-bit little-endian samples, 44.1 kHz. The rest takes the place of the input: together the two results are the input.
 * Twelve seconds are in memory at a time. See `inference/serve.ts`.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { folderOf } from '../inference/arguments.ts';
import { type ModelProgram, serve } from '../inference/serve.ts';
import { writeAll } from '../process/write-all.ts';
import { FRAMES, openStems, SEEN, type VoiceShares } from './separate/stems.ts';
import { FRAME_HOP, FRAME_SIZE, transform } from './separate/transform.ts';

/** Hann's window, before and after: its squares over one sample add up to a constant. */
const window = Float64Array.from({ length: FRAME_SIZE }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / FRAME_SIZE));
const OVERLAP = 1.5;
/** What the first piece begins before the first sample, so that this one is under as many windows as all others. */
const LEAD = FRAME_SIZE - FRAME_HOP;
const BLOCK = FRAMES * FRAME_HOP;
const FULL_SCALE = 32_768;
/** Bytes of a sample of both channels. */
const WIDTH = 4;

/** Spectra of both channels, of which one is real and one imaginary in the same transform, piece by piece. */
interface Spectra {
  readonly left: Float32Array;
  readonly right: Float32Array;
}

/** @param samples of both channels, interleaved */
function spectraOf(samples: Float32Array): Spectra {
  const [left, right] = [new Float32Array(FRAMES * FRAME_SIZE), new Float32Array(FRAMES * FRAME_SIZE)];
  const [a, b] = [new Float64Array(FRAME_SIZE), new Float64Array(FRAME_SIZE)];
  for (let frame = 0; frame < FRAMES; frame++) {
    for (let i = 0; i < FRAME_SIZE; i++) {
      const at = (frame * FRAME_HOP + i) * 2;
      a[i] = (samples[at] as number) * (window[i] as number);
      b[i] = (samples[at + 1] as number) * (window[i] as number);
    }
    transform(a, b, -1);
    left.set(a, frame * FRAME_SIZE);
    right.set(b, frame * FRAME_SIZE);
  }
  return { left, right };
}

function magnitudesOf({ left, right }: Spectra): Float32Array {
  const found = new Float32Array(2 * FRAMES * SEEN);
  for (let frame = 0; frame < FRAMES; frame++)
    for (let k = 0; k < SEEN; k++) {
      const [x, y] = [frame * FRAME_SIZE + k, frame * FRAME_SIZE + ((FRAME_SIZE - k) % FRAME_SIZE)];
      const [lr, li] = [((left[x] as number) + (left[y] as number)) / 2, ((right[x] as number) - (right[y] as number)) / 2];
      const [rr, ri] = [((right[x] as number) + (right[y] as number)) / 2, ((left[y] as number) - (left[x] as number)) / 2];
      found[frame * SEEN + k] = Math.hypot(lr, li);
      found[(FRAMES + frame) * SEEN + k] = Math.hypot(rr, ri);
    }
  return found;
}

/** Adds the voice of each piece to the sums of both channels. */
function addVoice({ left, right }: Spectra, shares: Float32Array, sums: Float32Array): void {
  const [a, b] = [new Float64Array(FRAME_SIZE), new Float64Array(FRAME_SIZE)];
  for (let frame = 0; frame < FRAMES; frame++) {
    const own = [0, 1].map((channel) => shares.subarray((channel * FRAMES + frame) * SEEN, (channel * FRAMES + frame + 1) * SEEN));
    const [ofLeft, ofRight] = own as [Float32Array, Float32Array];
    // Higher than the models hear, the voice has its mean share.
    const [meanLeft, meanRight] = own.map((each) => each.reduce((sum, value) => sum + value, 0) / SEEN) as [number, number];
    for (let k = 0; k <= FRAME_SIZE / 2; k++) {
      const [gainLeft, gainRight] = k < SEEN ? [ofLeft[k] as number, ofRight[k] as number] : [meanLeft, meanRight];
      const mirror = (FRAME_SIZE - k) % FRAME_SIZE;
      const [x, y] = [frame * FRAME_SIZE + k, frame * FRAME_SIZE + mirror];
      const [lr, li] = [((left[x] as number) + (left[y] as number)) / 2, ((right[x] as number) - (right[y] as number)) / 2];
      const [rr, ri] = [((right[x] as number) + (right[y] as number)) / 2, ((left[y] as number) - (left[x] as number)) / 2];
      // Left + i · right, of which the negative frequencies are the other way round.
      a[k] = gainLeft * lr - gainRight * ri;
      b[k] = gainLeft * li + gainRight * rr;
      a[mirror] = gainLeft * lr + gainRight * ri;
      b[mirror] = -gainLeft * li + gainRight * rr;
    }
    transform(a, b, 1);
    for (let i = 0; i < FRAME_SIZE; i++) {
      const [at, gain] = [(frame * FRAME_HOP + i) * 2, (window[i] as number) / FRAME_SIZE / OVERLAP];
      sums[at] = (sums[at] as number) + (a[i] as number) * gain;
      sums[at + 1] = (sums[at + 1] as number) + (b[i] as number) * gain;
    }
  }
}

async function separate(sound: string, vocals: string, sharesOf: VoiceShares, progress: (fraction: number) => void): Promise<void> {
  const [source, voices] = [openSync(sound, 'r+'), openSync(vocals, 'wx')];
  const frames = Math.floor(fstatSync(source).size / WIDTH);
  const span = (FRAMES - 1) * FRAME_HOP + FRAME_SIZE;
  const sums = new Float32Array(span * 2);
  for (let first = -LEAD; first < frames; first += BLOCK) {
    const samples = readFrom(source, first, span, frames);
    const spectra = spectraOf(samples);
    addVoice(spectra, await sharesOf(magnitudesOf(spectra)), sums);
    writeDone({ source, voices, frames }, first, samples, sums);
    sums.copyWithin(0, BLOCK * 2).fill(0, (span - BLOCK) * 2);
    progress(Math.min(1, (first + BLOCK) / frames));
  }
  for (const file of [source, voices]) closeSync(file);
}

/** Silence before the beginning and behind the end. */
function readFrom(file: number, first: number, count: number, frames: number): Float32Array {
  const [from, to] = [Math.max(0, first), Math.min(frames, first + count)];
  const bytes = Buffer.alloc(Math.max(0, to - from) * WIDTH);
  readSync(file, bytes, 0, bytes.length, from * WIDTH);
  const samples = new Float32Array(count * 2);
  for (let i = 0; i * 2 < bytes.length; i++) samples[(from - first) * 2 + i] = bytes.readInt16LE(i * 2) / FULL_SCALE;
  return samples;
}

/** Writes the samples that no later piece adds to: no later block reads them either. */
function writeDone(
  { source, voices, frames }: { readonly source: number; readonly voices: number; readonly frames: number },
  first: number,
  samples: Float32Array,
  sums: Float32Array,
): void {
  const [from, to] = [Math.max(0, first), Math.min(frames, first + BLOCK)];
  if (to <= from) return;
  const [voice, rest] = [Buffer.alloc((to - from) * WIDTH), Buffer.alloc((to - from) * WIDTH)];
  const bounded = (value: number) => Math.max(-FULL_SCALE, Math.min(FULL_SCALE - 1, Math.round(value)));
  for (let i = 0; i < (to - from) * 2; i++) {
    const at = (from - first) * 2 + i;
    const sung = bounded((sums[at] as number) * FULL_SCALE);
    voice.writeInt16LE(sung, i * 2);
    rest.writeInt16LE(bounded((samples[at] as number) * FULL_SCALE - sung), i * 2);
  }
  writeAll(voices, voice, from * WIDTH);
  writeAll(source, rest, from * WIDTH);
}

const work: ModelProgram['work'] = async ([sound = '', vocals = ''], progress) => {
  await separate(sound, vocals, await openStems(folderOf('spleeter-2stems')), progress);
  return [];
};

await serve({ name: 'stems', version: '1.0', work });
