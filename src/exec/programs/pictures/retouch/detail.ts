/** Detail: takes noise away, as much as there is, and sharpens without halos. */
import { boxMean, greatest, guided, least, noiseOf, nonLocalMeans } from '../planes/filters.ts';
import { lumaOf, type Picture, type Plane, plane } from '../planes/picture.ts';

/** Share of the range from black to white: less noise is not visible, and stays. */
const VISIBLE = 1.5 / 255;

/**
 * Without its noise: the luma by non-local means, the colours' difference from it, which the eye sees less sharply, by a guided filter.
 * @returns the noise that it had as well
 */
export function denoised(picture: Picture, reach: number, progress: (fraction: number) => void): { picture: Picture; noise: number } {
  const luma = lumaOf(picture);
  const noise = noiseOf(luma);
  if (noise < VISIBLE) return { picture, noise };
  const smooth = nonLocalMeans(luma, noise, reach, progress);
  const { width, height } = picture;
  if (picture.colours.length < 3) return { picture: { ...picture, colours: [smooth] }, noise };
  const colours = picture.colours.map((colour) => {
    const chroma = plane(
      width,
      height,
      colour.data.map((value, i) => value - (luma.data[i] as number)),
    );
    const soft = guided(chroma, smooth, 3, Math.max(0.02, 2 * noise));
    return plane(
      width,
      height,
      soft.data.map((value, i) => value + (smooth.data[i] as number)),
    );
  });
  return { picture: { ...picture, colours }, noise };
}

/** Sharpens edges, not what is about as weak as the noise, and not beyond the neighbours' range. */
export function sharpened(picture: Picture, amount: number, noise: number): Picture {
  const { width, height } = picture;
  const luma = lumaOf(picture);
  const soft = boxMean(boxMean(luma, 1), 1);
  const [low, high] = [least(luma, 1), greatest(luma, 1)];
  const threshold = 2 * noise + 1 / 255;
  const change = luma.data.map((value, i) => {
    const detail = value - (soft.data[i] as number);
    const strength = detail * detail;
    const kept = (amount * detail * strength) / (strength + threshold * threshold);
    return Math.max((low.data[i] as number) - 0.01, Math.min((high.data[i] as number) + 0.01, value + kept)) - value;
  });
  const add = ({ data }: Plane): Plane =>
    plane(
      width,
      height,
      data.map((value, i) => value + (change[i] as number)),
    );
  return { ...picture, colours: picture.colours.map(add) };
}
