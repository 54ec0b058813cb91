/**
 * The input of DeepFilterNet for each frame, as its own library computes it: the loudness of bands that widen as hearing does, and the lower part of the
 * spectrum, each relative to the last second (Schröter et al., "DeepFilterNet", 2022; libDF).
 */
import { BINS, HEARD_RATE, HOP, SIZE, type Spectrum } from './spectrum.ts';

export const LOUDNESSES = 32;
/** Bins that are filtered one by one. */
export const LOW_BINS = 96;
const LEAST_BINS = 2;
/** How much of the mean the frames before this one make: a second, to two digits. */
const KEPT = Math.round(Math.exp(-HOP / HEARD_RATE) * 100) / 100;

/** Equivalent rectangular bandwidths (Glasberg and Moore, 1990), Hz. */
const [NARROWEST, QUALITY] = [24.7, 9.265];
const hertzOf = (erb: number): number => NARROWEST * QUALITY * (Math.exp(erb / QUALITY) - 1);
const erbOf = (hertz: number): number => QUALITY * Math.log1p(hertz / (NARROWEST * QUALITY));

/** The band of each bin. */
export const bandOfBin: Uint8Array = (() => {
  const bands = new Uint8Array(BINS).fill(LOUDNESSES - 1);
  let [bin, owed] = [0, 0];
  for (let band = 0, before = 0; band < LOUDNESSES; band++) {
    const end = Math.round(hertzOf((erbOf(HEARD_RATE / 2) * (band + 1)) / LOUDNESSES) / (HEARD_RATE / SIZE));
    // A narrow band takes from the next one what it lacks.
    const width = Math.max(LEAST_BINS, end - before - owed);
    owed = Math.max(0, LEAST_BINS - (end - before - owed));
    before = end;
    bands.fill(band, bin, bin + width);
    bin += width;
  }
  return bands;
})();
const widths = Float64Array.from({ length: LOUDNESSES }, (_, band) =>
  bandOfBin.reduce((count, each) => count + (each === band ? 1 : 0), 0),
);

export interface Features {
  /** One number a band. */
  readonly loudness: Float32Array;
  /** The lower part of the spectrum: all real parts, then all imaginary ones. */
  readonly low: Float32Array;
}

const spread = (from: number, to: number, count: number): Float64Array =>
  Float64Array.from({ length: count }, (_, i) => from + ((to - from) * i) / (count - 1));

/** Computes the features of a sound, frame after frame. */
export class FeatureExtractor {
  readonly #loudness = spread(-60, -90, LOUDNESSES);
  readonly #sizes = spread(0.001, 0.0001, LOW_BINS);

  extract({ real, imaginary }: Spectrum): Features {
    const power = new Float64Array(LOUDNESSES);
    for (let k = 0; k < BINS; k++) {
      const band = bandOfBin[k] as number;
      power[band] = (power[band] as number) + (real[k] as number) ** 2 + (imaginary[k] as number) ** 2;
    }
    const loudness = Float32Array.from(power, (sum, band) => {
      const decibels = 10 * Math.log10(sum / (widths[band] as number) + 1e-10);
      const mean = decibels * (1 - KEPT) + (this.#loudness[band] as number) * KEPT;
      this.#loudness[band] = mean;
      return (decibels - mean) / 40;
    });
    const low = new Float32Array(2 * LOW_BINS);
    for (let k = 0; k < LOW_BINS; k++) {
      const [r, m] = [real[k] as number, imaginary[k] as number];
      const size = Math.hypot(r, m) * (1 - KEPT) + (this.#sizes[k] as number) * KEPT;
      this.#sizes[k] = size;
      low[k] = r / Math.sqrt(size);
      low[LOW_BINS + k] = m / Math.sqrt(size);
    }
    return { loudness, low };
  }
}
