/**
 * What stands before a plain backdrop: all that has another colour than the edge of the picture, and is not reached from there. The backdrop may get
 * lighter or darker across the picture, as a lamp makes it.
 */
import { greatest, least, product } from '../planes/filters.ts';
import { clamp, type Picture, type Plane, plane } from '../planes/picture.ts';

export interface Standing {
  /** From 0, the backdrop, to 1. */
  readonly mask: Plane;
  /** How clearly it stands out, from 0 to 1. */
  readonly confidence: number;
  /** Share of the picture that stands there. */
  readonly share: number;
}

/** Width of the edge that is looked at, of the shorter side. */
const EDGE = 0.03;
const MOST_SAMPLES = 20_000;
const ROUNDS = 5;
/** Distances of colours, of 1: within the first the edge is the backdrop at the outset, and what differs less than the second is the same to the eye. */
const [ALIKE, SAME] = [0.14, 0.02];
/** In deviations of the backdrop: what differs less belongs to it. */
const REACH = 3.5;
/** A backdrop that is less of the edge, or varies more, is not plain. */
const [LEAST_OF_EDGE, MOST_VARIED] = [0.55, 0.04];
/** Where it is this much of the edge, and the subject differs this much, nothing is doubtful. */
const [SURE_OF_EDGE, SURE_CONTRAST] = [0.8, 0.12];
/** Share of the picture below which what stands out is a speck. */
const SPECK = 0.0005;
/** The longer side in widths of an edge; what counts as the subject's whole colour, of the greatest distance nearby. */
const [SOFT, NEARLY] = [500, 0.85];

/** @returns undefined where the edge of the picture shows no plain backdrop */
export function beforeBackdrop(picture: Picture): Standing | undefined {
  const backdrop = backdropOf(picture);
  if (backdrop === undefined) return undefined;
  const distance = distanceFrom(picture, backdrop);
  const reach = Math.max(SAME, REACH * backdrop.deviation);
  const stands = standing(distance, reach);
  const { count, contrast } = withoutSpecks(stands, distance);
  const mask = softened(stands, distance);
  const ofEdge = clamp((backdrop.share - LEAST_OF_EDGE) / (SURE_OF_EDGE - LEAST_OF_EDGE));
  const confidence = Math.min(0.5 + ofEdge / 2, clamp((contrast - reach) / SURE_CONTRAST), 1 - backdrop.deviation / (2 * MOST_VARIED));
  return { mask, confidence, share: count / stands.length };
}

/**
 * Where the subject ends, a pixel shows some of both: it is as far from the backdrop's colour as the subject nearby, by the share that it shows of
 * the subject. Further inside, all of it is shown.
 */
function softened(stands: Uint8Array, distance: Plane): Plane {
  const { width, height } = distance;
  const radius = Math.max(2, Math.round(Math.max(width, height) / SOFT));
  const whole = plane(width, height, Float32Array.from(stands));
  const inside = least(whole, radius);
  const nearby = greatest(product(distance, whole), 2 * radius);
  const share = (place: number): number => clamp(at(distance.data, place) / Math.max(SAME, NEARLY * at(nearby.data, place)));
  return plane(
    width,
    height,
    whole.data.map((stood, place) => (stood === 0 ? 0 : at(inside.data, place) === 1 ? 1 : share(place))),
  );
}

/** A colour for each place, which changes with it as a polynomial of second degree. */
interface Fitted {
  /** Six factors for each channel. */
  readonly factors: readonly (readonly number[])[];
  readonly deviation: number;
  /** How much of the edge it is. */
  readonly share: number;
}

type Terms = readonly [number, number, number, number, number, number];
const termsAt = (x: number, y: number): Terms => [1, x, y, x * x, x * y, y * y];

function backdropOf(picture: Picture): Fitted | undefined {
  const { colours } = picture;
  const places = edgeOf(picture);
  const samples = places.map(({ x, y, at }) => ({ terms: termsAt(x, y), values: colours.map(({ data }) => data[at] as number) }));
  const middle = colours.map((_, channel) => median(samples.map(({ values }) => values[channel] as number)));
  let factors: readonly (readonly number[])[] = middle.map((value) => [value, 0, 0, 0, 0, 0]);
  let [limit, share, deviation] = [ALIKE, 0, 0];
  for (let round = 0; round < ROUNDS; round++) {
    const near = samples.filter(({ terms, values }) => differing(factors, terms, values) <= limit);
    share = near.length / samples.length;
    if (share < LEAST_OF_EDGE) return undefined;
    factors = colours.map((_, channel) => leastSquares(near.map(({ terms, values }) => [terms, values[channel] as number] as const)));
    deviation = Math.sqrt(near.reduce((sum, { terms, values }) => sum + differing(factors, terms, values) ** 2, 0) / near.length);
    limit = Math.min(ALIKE, Math.max(SAME, REACH * deviation));
  }
  return deviation > MOST_VARIED ? undefined : { factors, deviation, share };
}

/** Places at the edge, whose coordinates go from -1 to 1. */
function edgeOf({ width, height }: Picture): readonly { readonly x: number; readonly y: number; readonly at: number }[] {
  const thick = Math.max(1, Math.round(EDGE * Math.min(width, height)));
  const all = width * height - Math.max(0, width - 2 * thick) * Math.max(0, height - 2 * thick);
  const every = Math.max(1, Math.floor(all / MOST_SAMPLES));
  const places = [];
  for (let row = 0, count = 0; row < height; row++)
    for (let column = 0; column < width; column++) {
      const isInside = row >= thick && row < height - thick && column >= thick && column < width - thick;
      if (isInside) column = width - thick;
      if (count++ % every === 0 && column < width)
        places.push({ x: across(column, width), y: across(row, height), at: row * width + column });
    }
  return places;
}

const across = (at: number, length: number): number => (length < 2 ? 0 : (2 * at) / (length - 1) - 1);

function median(values: readonly number[]): number {
  return Float64Array.from(values).sort()[values.length >> 1] ?? 0;
}

const valueAt = (factors: readonly number[], terms: Terms): number =>
  terms.reduce((sum, term, place) => sum + term * (factors[place] as number), 0);

/** Root mean square of all channels. */
function differing(factors: readonly (readonly number[])[], terms: Terms, values: readonly number[]): number {
  const sum = values.reduce((total, value, channel) => total + (value - valueAt(factors[channel] as readonly number[], terms)) ** 2, 0);
  return Math.sqrt(sum / values.length);
}

/** Solves the normal equations by elimination. Ridges keep them solvable where a picture is a line. */
function leastSquares(samples: readonly (readonly [Terms, number])[]): readonly number[] {
  const size = 6;
  const rows = Array.from({ length: size }, (_, row) =>
    Array.from({ length: size + 1 }, (__, column): number => (row === column ? 1e-6 : 0)),
  );
  for (const [terms, value] of samples)
    for (const [row, equation] of rows.entries()) {
      for (let column = 0; column < size; column++) equation[column] = at(equation, column) + at(terms, row) * at(terms, column);
      equation[size] = at(equation, size) + at(terms, row) * value;
    }
  for (let pivot = 0; pivot < size; pivot++)
    for (const [row, equation] of rows.entries()) {
      const pivots = rows[pivot] as number[];
      if (row === pivot) continue;
      const factor = at(equation, pivot) / at(pivots, pivot);
      for (let column = pivot; column <= size; column++) equation[column] = at(equation, column) - factor * at(pivots, column);
    }
  return rows.map((equation, row) => at(equation, size) / at(equation, row));
}
const at = (values: ArrayLike<number>, place: number): number => values[place] as number;

function distanceFrom({ width, height, colours }: Picture, { factors }: Fitted): Plane {
  const squares = new Float32Array(width * height);
  for (const [channel, { data }] of colours.entries()) {
    const [f, fx, fy, fxx, fxy, fyy] = factors[channel] as unknown as Terms;
    for (let row = 0; row < height; row++) {
      const y = across(row, height);
      const [start, slope] = [f + fy * y + fyy * y * y, fx + fxy * y];
      for (let column = 0; column < width; column++) {
        const x = across(column, width);
        squares[row * width + column] =
          at(squares, row * width + column) + (at(data, row * width + column) - start - slope * x - fxx * x * x) ** 2;
      }
    }
  }
  return plane(
    width,
    height,
    squares.map((sum) => Math.sqrt(sum / colours.length)),
  );
}

/** Goes from each place to those beside, above and below it. @param entered takes a place in, once @param open gets the places in turn @returns how many */
function spread({ width, height }: Plane, starts: Iterable<number>, entered: (place: number) => boolean, open: Int32Array): number {
  let count = 0;
  const reach = (place: number): void => {
    if (entered(place)) open[count++] = place;
  };
  for (const start of starts) reach(start);
  for (let head = 0; head < count; head++) {
    const place = at(open, head);
    const column = place % width;
    if (column > 0) reach(place - 1);
    if (column < width - 1) reach(place + 1);
    if (place >= width) reach(place - width);
    if (place < width * (height - 1)) reach(place + width);
  }
  return count;
}

function* border({ width, height }: Plane): Generator<number> {
  for (let column = 0; column < width; column++) yield* [column, (height - 1) * width + column];
  for (let row = 0; row < height; row++) yield* [row * width, row * width + width - 1];
}

/** 1 where no way of the backdrop's colour leads from the edge. */
function standing(distance: Plane, limit: number): Uint8Array {
  const stands = new Uint8Array(distance.data.length).fill(1);
  const entered = (place: number): boolean => {
    if (stands[place] === 0 || at(distance.data, place) >= limit) return false;
    stands[place] = 0;
    return true;
  };
  spread(distance, border(distance), entered, new Int32Array(stands.length));
  return stands;
}

/** Clears what is no larger than a speck. @returns how many pixels are left, and how far most of them are from the backdrop */
function withoutSpecks(stands: Uint8Array, distance: Plane): { readonly count: number; readonly contrast: number } {
  const seen = new Uint8Array(stands.length);
  const open = new Int32Array(stands.length);
  const entered = (place: number): boolean => {
    if (stands[place] === 0 || seen[place] === 1) return false;
    seen[place] = 1;
    return true;
  };
  let [count, sum] = [0, 0];
  for (let start = 0; start < stands.length; start++) {
    if (stands[start] === 0 || seen[start] === 1) continue;
    const size = spread(distance, [start], entered, open);
    const isSpeck = size < SPECK * stands.length;
    if (!isSpeck) count += size;
    for (const place of open.subarray(0, size))
      if (isSpeck) stands[place] = 0;
      else sum += at(distance.data, place);
  }
  return { count, contrast: count === 0 ? 0 : sum / count };
}
