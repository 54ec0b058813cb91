/** Samples of one channel, 16 kHz, 16 bits, in a file. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { RATE } from './whisper.ts';

/** Nothing is louder in silence, of full scale. */
const SILENCE = 0.001;

export class SpokenRecording {
  readonly samples: number;
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'r');
    this.samples = Math.floor(fstatSync(this.#file).size / 2);
  }

  /** Samples from -1 to 1; silence before the beginning and behind the end. */
  read(from: number, count: number): Float32Array {
    const first = Math.max(0, from);
    const bytes = Buffer.alloc(Math.max(0, Math.min(this.samples, from + count) - first) * 2);
    readSync(this.#file, bytes, 0, bytes.length, first * 2);
    const read = new Float32Array(count);
    for (let i = 0; i * 2 < bytes.length; i++) read[first - from + i] = bytes.readInt16LE(i * 2) / 32_768;
    return read;
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** A stretch of speech, samples; the last one is not part of it. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Seconds at the edge of a span in which a phrase is not said to begin or end, if most of it is on the other side of the pause. */
const SLACK = 0.5;

/** Samples of silence that are left of each pause: without them the model takes what was said before and behind for one sentence. */
const GAP = RATE;

/** Only what is spoken, one stretch behind the other, and where each was in the recording. */
export class Speech {
  readonly samples: number;
  readonly #recording: SpokenRecording;
  readonly #spans: readonly (Span & { readonly at: number })[];

  /** @param spans in order, apart from each other */
  constructor(recording: SpokenRecording, spans: readonly Span[]) {
    this.#recording = recording;
    let at = 0;
    this.#spans = spans.map((span) => {
      const placed = { ...span, at };
      at += span.to - span.from + GAP;
      return placed;
    });
    this.samples = Math.max(0, at - GAP);
  }

  /** As of a recording without its pauses. */
  read(from: number, count: number): Float32Array {
    const read = new Float32Array(count);
    for (const { from: begins, to: ends, at } of this.#spans) {
      const [first, last] = [Math.max(from, at), Math.min(from + count, at + ends - begins)];
      if (first < last) read.set(this.#recording.read(begins + first - at, last - first), first - from);
    }
    return read;
  }

  /** @returns the first sample from there on that is not silent; the number of samples where none is */
  soundFrom(from: number): number {
    for (let at = from; at < this.samples; at += RATE) {
      const i = this.read(at, Math.min(RATE, this.samples - at)).findIndex((sample) => Math.abs(sample) > SILENCE);
      if (i >= 0) return at + i;
    }
    return this.samples;
  }

  /** @param from of a phrase, seconds without pauses @param to its end @returns when it is said in the recording, s */
  placed(from: number, to: number): { readonly from: number; readonly to: number } {
    const [first, last] = [this.#spanAt(from * RATE), this.#spanAt(to * RATE)];
    const [begin, end] = [this.#spans[first], this.#spans[last]];
    if (begin === undefined || end === undefined) return { from, to };
    const isLate = first < last && begin.at + (begin.to - begin.from) - from * RATE < SLACK * RATE;
    const isEarly = first < last && to * RATE - end.at < SLACK * RATE;
    const [begins, ends] = [
      isLate ? this.#spans[first + 1] : begin,
      isEarly && !(isLate && first + 1 === last) ? this.#spans[last - 1] : end,
    ];
    if (begins === undefined || ends === undefined) return { from, to };
    const start = (begins.from + Math.max(0, from * RATE - begins.at)) / RATE;
    const stop = (ends.from + Math.min(ends.to - ends.from, to * RATE - ends.at)) / RATE;
    return { from: start, to: Math.max(start, stop) };
  }

  /** @returns the place of the span that has a sample; what is behind all of them is of the last one */
  #spanAt(sample: number): number {
    const found = this.#spans.findIndex(({ at, from, to }) => sample < at + (to - from) + GAP / 2);
    return found < 0 ? this.#spans.length - 1 : found;
  }
}
