/** Pieces of a song as frequencies, and back. */

/** Samples of a piece, and from one to the next. */
export const [FRAME_SIZE, FRAME_HOP] = [4096, 1024];

const cosines = Float64Array.from({ length: FRAME_SIZE / 2 }, (_, i) => Math.cos((2 * Math.PI * i) / FRAME_SIZE));
const sines = Float64Array.from({ length: FRAME_SIZE / 2 }, (_, i) => Math.sin((2 * Math.PI * i) / FRAME_SIZE));
const reversed = Uint16Array.from({ length: FRAME_SIZE }, (_, i) =>
  Number.parseInt(i.toString(2).padStart(Math.log2(FRAME_SIZE), '0').split('').reverse().join(''), 2),
);

/** The discrete Fourier transform in place (Cooley and Tukey, 1965). @param direction -1: forward, 1: back, not divided by the size */
export function transform(real: Float64Array, imaginary: Float64Array, direction: 1 | -1): void {
  for (let i = 0; i < FRAME_SIZE; i++) {
    const j = reversed[i] as number;
    if (j <= i) continue;
    [real[i], real[j]] = [real[j] as number, real[i] as number];
    [imaginary[i], imaginary[j]] = [imaginary[j] as number, imaginary[i] as number];
  }
  for (let half = 1; half < FRAME_SIZE; half *= 2) {
    const step = FRAME_SIZE / 2 / half;
    for (let start = 0; start < FRAME_SIZE; start += 2 * half)
      for (let k = 0, at = start; k < half; k++, at++) {
        const [c, s] = [cosines[k * step] as number, direction * (sines[k * step] as number)];
        const [r, m] = [real[at + half] as number, imaginary[at + half] as number];
        const [tr, ti] = [r * c - m * s, r * s + m * c];
        real[at + half] = (real[at] as number) - tr;
        imaginary[at + half] = (imaginary[at] as number) - ti;
        real[at] = (real[at] as number) + tr;
        imaginary[at] = (imaginary[at] as number) + ti;
      }
  }
}
