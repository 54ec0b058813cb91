/**
 * Splits a stereo recording into what is in its middle, where vocals are mixed, and the rest.
 *
 *   separate.ts SOUND.raw VOCALS.raw RATE
 *
 * Both are interleaved stereo of 16-bit little-endian samples. The rest takes the place of the input. Each frequency of a short piece is judged by how alike both channels are there; together the
 * two results are the input. Prints `progress 0.5` and the like; a recording whose channels are the same is one line of JSON, as residents answer, and
 * status 2.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { writeAll } from '../process/write-all.ts';
import { FRAME_HOP, FRAME_SIZE, transform } from './separate/transform.ts';

const VERSION = '1.0';
/** Voices have nothing below, Hz: a bass in the middle stays with the instruments. */
const LOWEST = 110;
/** How steeply what leans to a side is left out of the middle. */
const STEEPNESS = 6;
/** Sides this much quieter than the middle are only rounding. */
const MONO = 1e-6;

/** Square roots of Hann's window: before and after, they add up to a constant. */
const window = Float64Array.from({ length: FRAME_SIZE }, (_, i) => Math.sqrt(0.5 - 0.5 * Math.cos((2 * Math.PI * i) / FRAME_SIZE)));
/** What the squares of the windows over one sample add up to. */
const OVERLAP = FRAME_SIZE / FRAME_HOP / 2;
/** The middle of one piece. The left channel is the real part and the right one the imaginary part of one transform. */
function middleOf(left: Float64Array, right: Float64Array, lowest: number): void {
  transform(left, right, -1);
  const mask = new Float64Array(FRAME_SIZE / 2 + 1);
  for (let k = lowest; k <= FRAME_SIZE / 2; k++) {
    const [a, b] = [k, (FRAME_SIZE - k) % FRAME_SIZE];
    const [lr, li] = [((left[a] as number) + (left[b] as number)) / 2, ((right[a] as number) - (right[b] as number)) / 2];
    const [rr, ri] = [((right[a] as number) + (right[b] as number)) / 2, ((left[b] as number) - (left[a] as number)) / 2];
    const power = lr * lr + li * li + rr * rr + ri * ri;
    // 1 where both are equal, 0 where one is silent or they differ by a quarter of a period.
    const alike = power === 0 ? 0 : Math.max(0, (2 * (lr * rr + li * ri)) / power);
    mask[k] = alike ** STEEPNESS;
  }
  for (let k = 0; k < FRAME_SIZE; k++) {
    const gain = mask[k <= FRAME_SIZE / 2 ? k : FRAME_SIZE - k] as number;
    left[k] = (left[k] as number) * gain;
    right[k] = (right[k] as number) * gain;
  }
  transform(left, right, 1);
}

function separate([sound = '', vocals = '', rate = '44100']: readonly string[]): boolean {
  const source = openSync(sound, 'r+');
  const frames = Math.floor(fstatSync(source).size / 4);
  const lowest = Math.max(1, Math.round((LOWEST * FRAME_SIZE) / Number(rate)));
  const voices = openSync(vocals, 'wx');
  // The piece begins before the recording, so that its first samples are under as many windows as all others.
  const [left, right] = [new Float64Array(FRAME_SIZE), new Float64Array(FRAME_SIZE)];
  const [sumLeft, sumRight] = [new Float64Array(FRAME_SIZE), new Float64Array(FRAME_SIZE)];
  const [a, b] = [new Float64Array(FRAME_SIZE), new Float64Array(FRAME_SIZE)];
  const bytes = Buffer.alloc(FRAME_HOP * 4);
  const [middle, rest] = [Buffer.alloc(FRAME_HOP * 4), Buffer.alloc(FRAME_HOP * 4)];
  let [same, different] = [0, 0];
  for (let end = FRAME_HOP; end - FRAME_SIZE < frames; end += FRAME_HOP) {
    left.copyWithin(0, FRAME_HOP);
    right.copyWithin(0, FRAME_HOP);
    const read = end - FRAME_HOP < frames ? readSync(source, bytes, 0, bytes.length, (end - FRAME_HOP) * 4) : 0;
    for (let i = 0; i < FRAME_HOP; i++) {
      const isThere = i * 4 + 4 <= read;
      const [l, r] = isThere ? [bytes.readInt16LE(i * 4), bytes.readInt16LE(i * 4 + 2)] : [0, 0];
      left[FRAME_SIZE - FRAME_HOP + i] = l;
      right[FRAME_SIZE - FRAME_HOP + i] = r;
      same += (l + r) ** 2;
      different += (l - r) ** 2;
    }
    for (let i = 0; i < FRAME_SIZE; i++) {
      a[i] = (left[i] as number) * (window[i] as number);
      b[i] = (right[i] as number) * (window[i] as number);
    }
    middleOf(a, b, lowest);
    sumLeft.copyWithin(0, FRAME_HOP).fill(0, FRAME_SIZE - FRAME_HOP);
    sumRight.copyWithin(0, FRAME_HOP).fill(0, FRAME_SIZE - FRAME_HOP);
    for (let i = 0; i < FRAME_SIZE; i++) {
      const gain = (window[i] as number) / FRAME_SIZE / OVERLAP;
      sumLeft[i] = (sumLeft[i] as number) + (a[i] as number) * gain;
      sumRight[i] = (sumRight[i] as number) + (b[i] as number) * gain;
    }
    // The first samples of the piece are under no later one.
    const first = end - FRAME_SIZE;
    const count = Math.min(FRAME_HOP, frames - first);
    if (first < 0) continue;
    for (let i = 0; i < count; i++)
      for (const [channel, sums, samples] of [
        [0, sumLeft, left],
        [2, sumRight, right],
      ] as const) {
        const sample = samples[i] as number;
        const voice = Math.max(-32_768, Math.min(32_767, Math.round(sums[i] as number)));
        middle.writeInt16LE(voice, i * 4 + channel);
        rest.writeInt16LE(Math.max(-32_768, Math.min(32_767, sample - voice)), i * 4 + channel);
      }
    writeAll(voices, middle.subarray(0, count * 4), first * 4);
    // These samples were read before.
    writeAll(source, rest.subarray(0, count * 4), first * 4);
    if (end % (FRAME_HOP * 256) === 0) process.stdout.write(`progress ${Math.min(1, first / frames).toFixed(3)}\n`);
  }
  for (const file of [source, voices]) closeSync(file);
  return different > MONO * same;
}

const order = process.argv.slice(2);
if (order[0] === '--version') process.stdout.write(`separate ${VERSION}\n`);
else if (!separate(order)) {
  process.stdout.write(
    `${JSON.stringify({ ok: false, reason: 'no_stream', says: 'Both channels are the same: vocals cannot be separated from instruments.' })}\n`,
  );
  process.exitCode = 2;
}
