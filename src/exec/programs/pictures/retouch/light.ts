/** Colours and tones: white balance, levels and local contrast. */
import { clamp, lumaOf, type Picture, type Plane, plane } from '../planes/picture.ts';

/** The power of the mean that stands for the light's colour: between grey world and brightest patch (Finlayson and Trezzi, "Shades of gray", 2004). */
const NORM = 6;
/** A picture of a blue sea is not to become grey: less than the whole difference, and never more than this. */
const [TRUST, MOST_GAIN] = [0.8, 1.5];
const MOST_SATURATION = 0.45;

/** Takes the tint of the light away; grey pictures stay as they are. */
export function balanced(picture: Picture): Picture {
  const { colours } = picture;
  if (colours.length < 3) return picture;
  const [red, green, blue] = colours as [Plane, Plane, Plane];
  const sums = [0, 0, 0];
  for (let i = 0; i < red.data.length; i++) {
    const [r, g, b] = [red.data[i] as number, green.data[i] as number, blue.data[i] as number];
    // What is clipped or black says nothing of the light.
    const [most, least] = [Math.max(r, g, b), Math.min(r, g, b)];
    if (most > 0.98 || least < 0.02) continue;
    // Neither does a coloured area.
    if (most - least > MOST_SATURATION * most) continue;
    sums[0] = (sums[0] as number) + r ** NORM;
    sums[1] = (sums[1] as number) + g ** NORM;
    sums[2] = (sums[2] as number) + b ** NORM;
  }
  const light = sums.map((sum) => sum ** (1 / NORM));
  if (light.some((value) => value === 0)) return picture;
  const mean = light.reduce((sum, value) => sum + value, 0) / 3;
  const gains = light.map((value) => Math.max(1 / MOST_GAIN, Math.min(MOST_GAIN, (mean / value) ** TRUST)));
  return { ...picture, colours: colours.map((colour, c) => mapped(colour, (value) => value * (gains[c] as number))) };
}

const mapped = ({ width, height, data }: Plane, change: (value: number) => number): Plane => plane(width, height, data.map(change));

const BINS = 256;
/** Share of the pixels that may become wholly black, and wholly white. */
const CLIPPED = 0.004;
/** A picture of fog is not to become one of night. */
const MOST_STRETCH = 2.5;

/** The tones spread from black to white, the same for all colours. */
export function levelled(picture: Picture): Picture {
  const { data } = lumaOf(picture);
  const counts = new Uint32Array(BINS);
  for (let i = 0; i < data.length; i++)
    counts[Math.min(BINS - 1, Math.floor(clamp(data[i] as number) * BINS))] =
      (counts[Math.min(BINS - 1, Math.floor(clamp(data[i] as number) * BINS))] as number) + 1;
  const at = (share: number) => {
    let [seen, bin] = [0, 0];
    while (bin < BINS - 1 && seen + (counts[bin] as number) < share * data.length) seen += counts[bin++] as number;
    return bin / (BINS - 1);
  };
  const [black, white] = [at(CLIPPED), at(1 - CLIPPED)];
  const range = Math.max(white - black, 1 / MOST_STRETCH);
  const low = Math.max(0, Math.min(black, (black + white - range) / 2));
  return { ...picture, colours: picture.colours.map((colour) => mapped(colour, (value) => clamp((value - low) / range))) };
}

const TILES = 8;

/**
 * Contrast-limited adaptive histogram equalisation (Zuiderveld, Graphics Gems IV, 1994) of the luma, a part of it; colours keep their proportions.
 * @param limit how much steeper than even a tone curve may be @param amount 0 to 1
 */
export function withLocalContrast(picture: Picture, limit: number, amount: number): Picture {
  const { width, height } = picture;
  const luma = lumaOf(picture);
  const [across, down] = [Math.min(TILES, Math.ceil(width / 16)), Math.min(TILES, Math.ceil(height / 16))];
  const curves = Array.from({ length: across * down }, (_, tile) => {
    const [column, row] = [tile % across, Math.floor(tile / across)];
    return curveOf(
      luma,
      edge(column, across, width),
      edge(column + 1, across, width),
      edge(row, down, height),
      edge(row + 1, down, height),
      limit,
    );
  });
  const gain = new Float32Array(luma.data.length);
  for (let y = 0; y < height; y++) {
    const [top, bottom, v] = between(y, down, height);
    for (let x = 0, at = y * width; x < width; x++, at++) {
      const [left, right, u] = between(x, across, width);
      const value = luma.data[at] as number;
      const bin = Math.min(BINS - 1, Math.floor(clamp(value) * BINS));
      const of = (column: number, row: number) => (curves[row * across + column] as Float32Array)[bin] as number;
      const equal = (1 - v) * ((1 - u) * of(left, top) + u * of(right, top)) + v * ((1 - u) * of(left, bottom) + u * of(right, bottom));
      gain[at] = value < 1 / BINS ? 1 : (value + amount * (equal - value)) / value;
    }
  }
  return {
    ...picture,
    colours: picture.colours.map((colour) =>
      plane(
        width,
        height,
        colour.data.map((value, i) => clamp(value * (gain[i] as number))),
      ),
    ),
  };
}

const edge = (index: number, tiles: number, length: number): number => Math.floor((index * length) / tiles);

/** The two tiles whose middles a pixel lies between, and how near it is to the second. */
function between(at: number, tiles: number, length: number): readonly [number, number, number] {
  const place = Math.max(0, Math.min(tiles - 1, ((at + 0.5) * tiles) / length - 0.5));
  const first = Math.floor(place);
  return [first, Math.min(tiles - 1, first + 1), place - first];
}

function curveOf({ data, width }: Plane, left: number, right: number, top: number, bottom: number, limit: number): Float32Array {
  const counts = new Float32Array(BINS);
  for (let y = top; y < bottom; y++)
    for (let x = left; x < right; x++)
      counts[Math.min(BINS - 1, Math.floor(clamp(data[y * width + x] as number) * BINS))] =
        (counts[Math.min(BINS - 1, Math.floor(clamp(data[y * width + x] as number) * BINS))] as number) + 1;
  const total = (right - left) * (bottom - top);
  const most = (limit * total) / BINS;
  let excess = 0;
  for (let bin = 0; bin < BINS; bin++) {
    excess += Math.max(0, (counts[bin] as number) - most);
    counts[bin] = Math.min(most, counts[bin] as number);
  }
  let sum = 0;
  return counts.map((count) => {
    const before = sum;
    sum += count + excess / BINS;
    return (before + sum) / 2 / total;
  });
}
