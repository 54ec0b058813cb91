/** Sound as spectra of overlapping frames, and back: DeepFilterNet hears 20 ms each 10 ms, at 48 kHz. */

export const HEARD_RATE = 48_000;
/** Samples of a frame, and from one to the next. */
export const [SIZE, HOP] = [960, 480];
export const BINS = SIZE / 2 + 1;

/** Spectrum of one frame; both parts of a bin are at the same index. */
export interface Spectrum {
  readonly real: Float32Array;
  readonly imaginary: Float32Array;
}

export const emptySpectrum = (): Spectrum => ({ real: new Float32Array(BINS), imaginary: new Float32Array(BINS) });

/** Vorbis' window (Vorbis I specification, 4.3.1): applied twice, overlapping frames add up to what was there. */
const window = Float64Array.from({ length: SIZE }, (_, i) => Math.sin((Math.PI / 2) * Math.sin((Math.PI * (i + 0.5)) / SIZE) ** 2));
const cosines = Float64Array.from({ length: SIZE }, (_, i) => Math.cos((2 * Math.PI * i) / SIZE));
const sines = Float64Array.from({ length: SIZE }, (_, i) => Math.sin((2 * Math.PI * i) / SIZE));

/** @param samples of one frame */
export function spectrumOf(samples: Float32Array): Spectrum {
  const real = new Float64Array(SIZE);
  for (let i = 0; i < SIZE; i++) real[i] = ((samples[i] as number) * (window[i] as number)) / SIZE;
  const [r, m] = transform(real, new Float64Array(SIZE), -1);
  return { real: new Float32Array(r.subarray(0, BINS)), imaginary: new Float32Array(m.subarray(0, BINS)) };
}

/** Adds the samples of a frame to those of its neighbours. */
export function addSamples({ real, imaginary }: Spectrum, to: Float32Array, at: number): void {
  const [r, m] = [new Float64Array(SIZE), new Float64Array(SIZE)];
  for (let k = 0; k < BINS; k++) {
    r[k] = real[k] as number;
    m[k] = imaginary[k] as number;
    // The other half of a real sound's spectrum is the mirror of this one.
    if (k === 0 || k === SIZE / 2) continue;
    r[SIZE - k] = real[k] as number;
    m[SIZE - k] = -(imaginary[k] as number);
  }
  const [samples] = transform(r, m, 1);
  for (let i = 0; i < SIZE; i++) to[at + i] = (to[at + i] as number) + (samples[i] as number) * (window[i] as number);
}

/** Factors of the transform's size. */
const FACTORS = [4, 4, 4, 3, 5] as const;
/** The roots of unity of each factor, by row and column of its transform. */
const roots = new Map(
  FACTORS.map((factor) => {
    const angles = Array.from({ length: factor ** 2 }, (_, i) => ((Math.floor(i / factor) * (i % factor)) % factor) * (SIZE / factor));
    return [
      factor,
      { c: Float64Array.from(angles, (at) => cosines[at] as number), s: Float64Array.from(angles, (at) => sines[at] as number) },
    ];
  }),
);
const spare = [new Float64Array(SIZE), new Float64Array(SIZE)] as const;

/**
 * The discrete Fourier transform, in order (Stockham's form of Cooley and Tukey's). Both arrays are overwritten.
 * @param direction -1: forward, 1: back, not divided by the size
 */
function transform(real: Float64Array, imaginary: Float64Array, direction: 1 | -1): readonly [Float64Array, Float64Array] {
  let [r, m, toR, toM]: [Float64Array, Float64Array, Float64Array, Float64Array] = [real, imaginary, ...spare];
  let [length, stride] = [SIZE, 1];
  for (const factor of FACTORS) {
    const { c, s } = roots.get(factor) as { c: Float64Array; s: Float64Array };
    const part = length / factor;
    for (let p = 0; p < part; p++)
      for (let k = 0; k < factor; k++) {
        const angle = p * k * stride;
        const [turnC, turnS] = [cosines[angle] as number, direction * (sines[angle] as number)];
        for (let q = 0; q < stride; q++) {
          let sumR = 0;
          let sumM = 0;
          for (let j = 0; j < factor; j++) {
            const at = q + stride * (p + part * j);
            const a = r[at] as number;
            const b = m[at] as number;
            const x = c[j * factor + k] as number;
            const y = direction * (s[j * factor + k] as number);
            sumR += a * x - b * y;
            sumM += a * y + b * x;
          }
          const to = q + stride * (factor * p + k);
          toR[to] = sumR * turnC - sumM * turnS;
          toM[to] = sumR * turnS + sumM * turnC;
        }
      }
    length = part;
    stride *= factor;
    [r, m, toR, toM] = [toR, toM, r, m];
  }
  return [r.slice(), m.slice()];
}
