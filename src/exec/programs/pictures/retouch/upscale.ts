/** Enlarges: by Lanczos' filter, then sharpened until the result, made small again, is the source; edges get no halos. */
import { greatest, least, product, resample } from '../planes/filters.ts';
import { type Picture, type Plane, plane } from '../planes/picture.ts';

/** Each brings less than the one before it. */
const ROUNDS = 3;
/** How far a pixel may leave the range of its neighbours in the source. */
const OVERSHOOT = 0.02;

export function upscale(picture: Picture, scale: number, progress: (fraction: number) => void): Picture {
  const { alpha, width, height } = picture;
  const [wide, high] = [width * scale, height * scale];
  const large = alpha && resample(alpha, wide, high);
  const steps = picture.colours.length * ROUNDS;
  const colours = picture.colours.map((colour, index) => {
    // The colour of what is transparent is unknown: it must not bleed into what is seen.
    const seen = alpha === undefined ? colour : product(colour, alpha);
    const result = backProjected(seen, wide, high, (round) => progress((index * ROUNDS + round) / steps));
    if (large === undefined) return result;
    return plane(
      wide,
      high,
      result.data.map((value, i) => ((large.data[i] as number) > 0.001 ? value / (large.data[i] as number) : 0)),
    );
  });
  return { ...picture, width: wide, height: high, colours, alpha: large };
}

/** Iterative back-projection (Irani and Peleg, "Improving resolution by image registration", 1991), held to the range of the neighbours. */
function backProjected(source: Plane, width: number, height: number, progress: (round: number) => void): Plane {
  const result = resample(source, width, height);
  const [low, high] = [least(source, 1), greatest(source, 1)];
  const scale = width / source.width;
  const error = plane(source.width, source.height);
  for (let round = 1; round <= ROUNDS; round++) {
    const small = resample(result, source.width, source.height);
    for (let i = 0; i < error.data.length; i++) error.data[i] = (source.data[i] as number) - (small.data[i] as number);
    const correction = resample(error, width, height);
    for (let y = 0; y < height; y++)
      for (let x = 0, at = y * width, row = Math.floor(y / scale) * source.width; x < width; x++, at++) {
        const near = row + Math.floor(x / scale);
        const value = (result.data[at] as number) + (correction.data[at] as number);
        result.data[at] = Math.max((low.data[near] as number) - OVERSHOOT, Math.min((high.data[near] as number) + OVERSHOOT, value));
      }
    progress(round);
  }
  return result;
}
