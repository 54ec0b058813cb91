/** Filters of one plane, each in a time that grows with its pixels alone: resampling, box means, local extremes, the noise that it has. */
import { type Plane, plane } from './picture.ts';

const LOBES = 3;

/** Lanczos' windowed sinc (Duchon, 1979). */
function lanczos(x: number): number {
  if (x === 0) return 1;
  if (Math.abs(x) >= LOBES) return 0;
  const t = Math.PI * x;
  return (LOBES * Math.sin(t) * Math.sin(t / LOBES)) / (t * t);
}

interface Taps {
  readonly first: Int32Array;
  readonly weights: readonly Float32Array[];
}

/** Which samples make each new one, and by how much; at the edges the picture is continued with its last pixel. */
function tapsOf(from: number, to: number): Taps {
  const scale = from / to;
  const stretch = Math.max(1, scale);
  const first = new Int32Array(to);
  const weights = Array.from({ length: to }, (_, at) => {
    const centre = (at + 0.5) * scale - 0.5;
    const start = Math.ceil(centre - LOBES * stretch);
    const end = Math.floor(centre + LOBES * stretch);
    const low = Math.max(0, Math.min(from - 1, start));
    const high = Math.max(low, Math.min(from - 1, end));
    const row = new Float32Array(high - low + 1);
    let sum = 0;
    for (let j = start; j <= end; j++) {
      const weight = lanczos((j - centre) / stretch);
      row[Math.max(low, Math.min(high, j)) - low] = (row[Math.max(low, Math.min(high, j)) - low] as number) + weight;
      sum += weight;
    }
    first[at] = low;
    return row.map((weight) => weight / sum);
  });
  return { first, weights };
}

/** In another size, by Lanczos' filter. */
export function resample({ width, height, data }: Plane, toWidth: number, toHeight: number): Plane {
  const across = tapsOf(width, toWidth);
  const narrow = new Float32Array(toWidth * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < toWidth; x++) {
      const row = across.weights[x] as Float32Array;
      const at = y * width + (across.first[x] as number);
      let sum = 0;
      for (let j = 0; j < row.length; j++) sum += (row[j] as number) * (data[at + j] as number);
      narrow[y * toWidth + x] = sum;
    }
  const down = tapsOf(height, toHeight);
  const result = new Float32Array(toWidth * toHeight);
  for (let y = 0; y < toHeight; y++) {
    const row = down.weights[y] as Float32Array;
    for (let j = 0; j < row.length; j++) {
      const [weight, at] = [row[j] as number, ((down.first[y] as number) + j) * toWidth];
      for (let x = 0, to = y * toWidth; x < toWidth; x++, to++) result[to] = (result[to] as number) + weight * (narrow[at + x] as number);
    }
  }
  return plane(toWidth, toHeight, result);
}

/** The mean of each pixel's square of 2 × radius + 1 pixels, of those that the picture has. */
export function boxMean(source: Plane, radius: number): Plane {
  const { width, height } = source;
  const wide = new Float32Array(source.data.length);
  for (let y = 0; y < height; y++) slide(source.data, wide, y * width, 1, width, radius);
  const result = new Float32Array(source.data.length);
  // Down the columns, a row at a time, as memory lies.
  const sums = new Float64Array(width);
  let count = 0;
  for (let y = -radius; y < height; y++) {
    const [enters, leaves] = [y + radius, y - radius - 1];
    if (enters < height) {
      count++;
      for (let x = 0; x < width; x++) sums[x] = (sums[x] as number) + (wide[enters * width + x] as number);
    }
    if (leaves >= 0) {
      count--;
      for (let x = 0; x < width; x++) sums[x] = (sums[x] as number) - (wide[leaves * width + x] as number);
    }
    if (y >= 0) for (let x = 0; x < width; x++) result[y * width + x] = (sums[x] as number) / count;
  }
  return plane(width, height, result);
}

function slide(from: Float32Array, to: Float32Array, start: number, step: number, length: number, radius: number): void {
  let [sum, count] = [0, 0];
  for (let at = -radius; at < length; at++) {
    const [enters, leaves] = [at + radius, at - radius - 1];
    if (enters < length) {
      sum += from[start + enters * step] as number;
      count++;
    }
    if (leaves >= 0) {
      sum -= from[start + leaves * step] as number;
      count--;
    }
    if (at >= 0) to[start + at * step] = sum / count;
  }
}

/** The least (or greatest) value of each pixel's square, for small radii. */
export function extreme({ width, height, data }: Plane, radius: number, pick: (a: number, b: number) => number): Plane {
  const wide = new Float32Array(data.length);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const last = Math.min(width - 1, x + radius);
      let value = data[y * width + x] as number;
      for (let j = Math.max(0, x - radius); j <= last; j++) value = pick(value, data[y * width + j] as number);
      wide[y * width + x] = value;
    }
  const result = wide.slice();
  for (let y = 0; y < height; y++)
    for (let j = Math.max(0, y - radius); j <= Math.min(height - 1, y + radius); j++)
      for (let x = 0, at = y * width, other = j * width; x < width; x++, at++, other++)
        result[at] = pick(result[at] as number, wide[other] as number);
  return plane(width, height, result);
}

export const least = (source: Plane, radius: number): Plane => extreme(source, radius, Math.min);
export const greatest = (source: Plane, radius: number): Plane => extreme(source, radius, Math.max);

/**
 * The standard deviation of the noise: the median of what a filter that lines and planes pass unseen finds (Immerkær, "Fast noise variance
 * estimation", 1996; the median in place of the mean, so that textures count less).
 */
export function noiseOf({ width, height, data }: Plane): number {
  const BINS = 4096;
  const found = new Uint32Array(BINS);
  let total = 0;
  for (let y = 1; y < height - 1; y++)
    for (let x = 1; x < width - 1; x++) {
      const at = y * width + x;
      const p = (offset: number) => data[at + offset] as number;
      const value = p(-width - 1) + p(-width + 1) + p(width - 1) + p(width + 1) - 2 * (p(-width) + p(-1) + p(1) + p(width)) + 4 * p(0);
      found[Math.min(BINS - 1, Math.floor(Math.abs(value) * 1024))] =
        (found[Math.min(BINS - 1, Math.floor(Math.abs(value) * 1024))] as number) + 1;
      total++;
    }
  let [seen, bin] = [0, 0];
  while (bin < BINS && seen + (found[bin] as number) <= total / 2) seen += found[bin++] as number;
  // The filter's weights have a norm of 6; the median of a normal distribution's absolute value is 0.6745 of its deviation.
  const within = total === 0 ? 0 : (total / 2 - seen) / Math.max(1, found[bin] ?? 1);
  return (bin + within) / 1024 / 6 / 0.6745;
}

/** Pixel by pixel. */
export const product = (a: Plane, b: Plane): Plane =>
  plane(
    a.width,
    a.height,
    a.data.map((value, i) => value * (b.data[i] as number)),
  );

/** Smooths what varies less than `deviation`, and keeps edges (He, Sun and Tang, "Guided image filtering", 2010). */
export function guided(source: Plane, guide: Plane, radius: number, deviation: number): Plane {
  const { width, height } = source;
  const [meanGuide, meanSource] = [boxMean(guide, radius), boxMean(source, radius)];
  const cross = boxMean(product(guide, source), radius);
  const square = boxMean(product(guide, guide), radius);
  const eps = deviation * deviation;
  const [slope, shift] = [new Float32Array(width * height), new Float32Array(width * height)];
  for (let i = 0; i < slope.length; i++) {
    const [m, n] = [meanGuide.data[i] as number, meanSource.data[i] as number];
    const a = ((cross.data[i] as number) - m * n) / (Math.max(0, (square.data[i] as number) - m * m) + eps);
    slope[i] = a;
    shift[i] = n - a * m;
  }
  const [a, b] = [boxMean(plane(width, height, slope), radius), boxMean(plane(width, height, shift), radius)];
  return plane(
    width,
    height,
    guide.data.map((value, i) => (a.data[i] as number) * value + (b.data[i] as number)),
  );
}

/** Each pixel becomes the mean of those whose surroundings look alike (Buades, Coll and Morel, "A non-local algorithm for image denoising", 2005). */
export function nonLocalMeans(source: Plane, deviation: number, reach: number, progress: (fraction: number) => void): Plane {
  const { width, height, data } = source;
  const [sums, weights] = [data.slice(), new Float32Array(data.length).fill(1)];
  const difference = plane(width, height);
  const strength = 1 / (0.5 * deviation * deviation);
  const offsets: (readonly [number, number])[] = [];
  for (let dy = 0; dy <= reach; dy++) for (let dx = dy === 0 ? 1 : -reach; dx <= reach; dx++) offsets.push([dx, dy]);
  for (const [index, [dx, dy]] of offsets.entries()) {
    difference.data.fill(0);
    const [left, right, shift] = [Math.max(0, -dx), Math.min(width, width - dx), dy * width + dx];
    for (let y = 0; y < height - dy; y++)
      for (let x = left, at = y * width + left; x < right; x++, at++)
        difference.data[at] = ((data[at] as number) - (data[at + shift] as number)) ** 2;
    const distance = boxMean(difference, 2).data;
    for (let y = 0; y < height - dy; y++)
      for (let x = left, at = y * width + left; x < right; x++, at++) {
        const excess = (distance[at] as number) - 2 * deviation * deviation;
        const weight = excess <= 0 ? 1 : Math.exp(-excess * strength);
        if (weight < 0.001) continue;
        sums[at] = (sums[at] as number) + weight * (data[at + shift] as number);
        weights[at] = (weights[at] as number) + weight;
        sums[at + shift] = (sums[at + shift] as number) + weight * (data[at] as number);
        weights[at + shift] = (weights[at + shift] as number) + weight;
      }
    progress((index + 1) / offsets.length);
  }
  return plane(
    width,
    height,
    sums.map((sum, i) => sum / (weights[i] as number)),
  );
}
