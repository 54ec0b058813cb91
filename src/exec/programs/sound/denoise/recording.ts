/** A WAV file whose channels are read and written one at a time, in their places. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { writeAll } from '../../process/write-all.ts';

/** FFmpeg's head of a WAV file is some hundred bytes. */
const HEAD_BYTES = 4096;
const EXTENSIBLE = 0xfffe;
/** Loudspeakers by the bits of a channel mask (WAVEFORMATEXTENSIBLE, `dwChannelMask`): the one for low frequencies alone carries no speech. */
const LOW_FREQUENCIES = 1 << 3;
/** Larger samples are damaged ones; full scale is 1. */
const LOUDEST = 8;

export class Recording {
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
    writeAll(this.#file, bytes, this.#placeOf(from));
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

/** @returns where the content of a chunk begins */
function chunkIn(head: Buffer, wanted: string): number | undefined {
  for (let at = 12; at + 8 <= head.length; at += 8 + head.readUInt32LE(at + 4) + (head.readUInt32LE(at + 4) % 2))
    if (head.toString('latin1', at, at + 4) === wanted) return at + 8;
  return undefined;
}
