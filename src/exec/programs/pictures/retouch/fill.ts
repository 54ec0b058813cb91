/** Fills holes in a picture: from their edges inwards, or with patches of what is around them. */
import { resample } from '../planes/filters.ts';
import { type Picture, type Plane, plane } from '../planes/picture.ts';

const REACH = 4;

/** Each pixel of the hole becomes the mean of those known near it, from the edge inwards (as Telea, "An image inpainting technique", 2004). */
export function fillSmoothly(picture: Picture, mask: Uint8Array): Picture {
  const { width, height } = picture;
  const colours = picture.colours.map(({ data }) => plane(width, height, data.slice()));
  const unknown = mask.slice();
  let edge: number[] = [];
  for (let at = 0; at < unknown.length; at++) if (unknown[at] && touchesKnown(unknown, width, height, at)) edge.push(at);
  const values = new Float32Array(colours.length);
  while (edge.length > 0) {
    const results = edge.map((at) => {
      const [x, y] = [at % width, Math.floor(at / width)];
      let total = 0;
      values.fill(0);
      for (let v = Math.max(0, y - REACH); v <= Math.min(height - 1, y + REACH); v++)
        for (let u = Math.max(0, x - REACH); u <= Math.min(width - 1, x + REACH); u++) {
          const other = v * width + u;
          if (unknown[other]) continue;
          const weight = 1 / ((u - x) ** 2 + (v - y) ** 2) ** 1.5;
          total += weight;
          for (let c = 0; c < colours.length; c++)
            values[c] = (values[c] as number) + weight * ((colours[c] as Plane).data[other] as number);
        }
      return values.map((value) => value / total);
    });
    for (const [index, at] of edge.entries()) {
      unknown[at] = 0;
      for (let c = 0; c < colours.length; c++) (colours[c] as Plane).data[at] = (results[index] as Float32Array)[c] as number;
    }
    const next = new Set<number>();
    for (const at of edge) {
      const [x, y] = [at % width, Math.floor(at / width)];
      for (let v = Math.max(0, y - 1); v <= Math.min(height - 1, y + 1); v++)
        for (let u = Math.max(0, x - 1); u <= Math.min(width - 1, x + 1); u++) if (unknown[v * width + u]) next.add(v * width + u);
    }
    edge = [...next];
  }
  return { ...picture, colours };
}

function touchesKnown(unknown: Uint8Array, width: number, height: number, at: number): boolean {
  const [x, y] = [at % width, Math.floor(at / width)];
  for (let v = Math.max(0, y - 1); v <= Math.min(height - 1, y + 1); v++)
    for (let u = Math.max(0, x - 1); u <= Math.min(width - 1, x + 1); u++) if (!unknown[v * width + u]) return true;
  return false;
}

/** Half of a patch's side, px. */
const HALF = 3;
const [ROUNDS_COARSE, ROUNDS_FINE, SEARCHES] = [8, 3, 3];
/** The smallest side of the coarsest picture, and the thickest that a hole may be there, px. */
const [LEAST_SIDE, THICK] = [24, 6];

/**
 * Fills the hole with patches of its surroundings, from coarse to fine (Wexler, Shechtman and Irani, "Space-time completion of video", 2007), which are
 * found as in Barnes et al., "PatchMatch", 2009. The same picture gives the same result.
 * @param mask 1 for each pixel of the hole, which must not be all of the picture
 */
export function fillWithPatches(picture: Picture, mask: Uint8Array, progress: (fraction: number) => void): Picture {
  const window = around(picture, mask);
  const part = cut(picture, window);
  const hole = cutMask(mask, picture.width, window);
  const levels = pyramid(part.colours, hole);
  let filled = fillSmoothly({ ...part, ...(levels.at(-1) as Level) }, (levels.at(-1) as Level).hole).colours;
  let fields: Int32Array | undefined;
  for (let index = levels.length - 1; index >= 0; index--) {
    const level = levels[index] as Level;
    const before = levels[index + 1];
    if (before !== undefined) filled = level.colours.map((colour, c) => refined(colour, filled[c] as Plane, level.hole));
    fields = matched(level, filled, before && fields && { field: fields, width: before.width }, index === 0 ? ROUNDS_FINE : ROUNDS_COARSE);
    progress(1 - index / levels.length);
  }
  const colours = picture.colours.map(({ width, height, data }, c) => {
    const result = data.slice();
    for (let y = 0; y < window.height; y++)
      for (let x = 0; x < window.width; x++) {
        const at = (window.top + y) * width + window.left + x;
        if (mask[at]) result[at] = (filled[c] as Plane).data[y * window.width + x] as number;
      }
    return plane(width, height, result);
  });
  return { ...picture, colours };
}

interface Window {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The hole and what lies around it, as far as it is wide. */
function around({ width, height }: Picture, mask: Uint8Array): Window {
  let [left, right, top, bottom] = [width, 0, height, 0];
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      if (mask[y * width + x]) [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
  const margin = Math.max(48, right - left, bottom - top);
  [left, top] = [Math.max(0, left - margin), Math.max(0, top - margin)];
  return { left, top, width: Math.min(width, right + margin + 1) - left, height: Math.min(height, bottom + margin + 1) - top };
}

function cut(picture: Picture, { left, top, width, height }: Window): Picture {
  const colours = picture.colours.map((colour) => {
    const data = new Float32Array(width * height);
    for (let y = 0; y < height; y++) {
      const from = (top + y) * colour.width + left;
      data.set(colour.data.subarray(from, from + width), y * width);
    }
    return plane(width, height, data);
  });
  return { ...picture, width, height, colours, alpha: undefined };
}

function cutMask(mask: Uint8Array, stride: number, { left, top, width, height }: Window): Uint8Array {
  const result = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) result.set(mask.subarray((top + y) * stride + left, (top + y) * stride + left + width), y * width);
  return result;
}

interface Level {
  readonly width: number;
  readonly height: number;
  readonly colours: readonly Plane[];
  readonly hole: Uint8Array;
}

/** The finest first. What a hole touches is hole in the coarser one too. */
function pyramid(colours: readonly Plane[], hole: Uint8Array): Level[] {
  const [first] = colours;
  if (first === undefined) throw new Error('a picture without colours');
  let level: Level = { width: first.width, height: first.height, colours, hole };
  const levels = [level];
  while (Math.min(level.width, level.height) >= 2 * LEAST_SIDE && thickness(level) > THICK && level.hole.includes(0)) {
    const [width, height] = [Math.floor(level.width / 2), Math.floor(level.height / 2)];
    const small = new Uint8Array(width * height);
    for (let y = 0; y < 2 * height; y++)
      for (let x = 0; x < 2 * width; x++) if (level.hole[y * level.width + x]) small[(y >> 1) * width + (x >> 1)] = 1;
    const { hole: holes, width: stride } = level;
    const halves = level.colours.map(({ data }) => {
      const half = new Float32Array(width * height);
      for (let y = 0; y < height; y++)
        for (let x = 0; x < width; x++) {
          let [sum, count] = [0, 0];
          for (const at of [
            2 * y * stride + 2 * x,
            2 * y * stride + 2 * x + 1,
            (2 * y + 1) * stride + 2 * x,
            (2 * y + 1) * stride + 2 * x + 1,
          ])
            if (!holes[at]) {
              sum += data[at] as number;
              count++;
            }
          half[y * width + x] = count === 0 ? 0 : sum / count;
        }
      return plane(width, height, half);
    });
    if (sourcesOf(small, width, height).length < 64) break;
    level = { width, height, colours: halves, hole: small };
    levels.push(level);
  }
  return levels;
}

/** The longest run of hole in a row or a column, whichever is less. */
function thickness({ hole, width, height }: Level): number {
  const longest = (lines: number, length: number, at: (line: number, place: number) => number) => {
    let most = 0;
    for (let line = 0; line < lines; line++)
      for (let place = 0, run = 0; place < length; place++) {
        run = hole[at(line, place)] ? run + 1 : 0;
        most = Math.max(most, run);
      }
    return most;
  };
  return Math.min(
    longest(height, width, (y, x) => y * width + x),
    longest(width, height, (x, y) => y * width + x),
  );
}

/** The known pixels as they are, and the hole as the coarser level has it. */
function refined(known: Plane, coarse: Plane, hole: Uint8Array): Plane {
  const large = resample(coarse, known.width, known.height);
  return plane(
    known.width,
    known.height,
    known.data.map((value, i) => (hole[i] ? (large.data[i] as number) : value)),
  );
}

/** @returns how many pixels have something of the hole within a patch around them, 0 without a hole; in time that grows with the picture alone */
export function reachedBy(hole: Uint8Array, width: number, height: number): number {
  const NONE = -2 * HALF - 1;
  // Along the rows first, then along the columns.
  const rows = new Uint8Array(hole.length);
  for (let y = 0; y < height; y++)
    for (let x = 0, last = NONE; x < width + HALF; x++) {
      if (x < width && hole[y * width + x]) last = x;
      const at = x - HALF;
      if (at >= 0 && last >= at - HALF) rows[y * width + at] = 1;
    }
  let reached = 0;
  for (let x = 0; x < width; x++)
    for (let y = 0, last = NONE; y < height + HALF; y++) {
      if (y < height && rows[y * width + x]) last = y;
      const at = y - HALF;
      if (at >= 0 && last >= at - HALF) reached++;
    }
  return reached;
}

/** Centres of patches that are wholly known. */
function sourcesOf(hole: Uint8Array, width: number, height: number): Int32Array {
  // Sums of the hole over rectangles, for a constant time each.
  const sums = new Int32Array((width + 1) * (height + 1));
  for (let y = 0; y < height; y++)
    for (let x = 0, row = 0; x < width; x++) {
      row += hole[y * width + x] as number;
      sums[(y + 1) * (width + 1) + x + 1] = (sums[y * (width + 1) + x + 1] as number) + row;
    }
  const found: number[] = [];
  for (let y = HALF; y < height - HALF; y++)
    for (let x = HALF; x < width - HALF; x++) {
      const [l, r, t, b] = [x - HALF, x + HALF + 1, (y - HALF) * (width + 1), (y + HALF + 1) * (width + 1)];
      const inside = (sums[b + r] as number) - (sums[b + l] as number) - (sums[t + r] as number) + (sums[t + l] as number);
      if (inside === 0) found.push(y * width + x);
    }
  return Int32Array.from(found);
}

/** Searches patches and puts them in, in turns. @returns by pixel: the centre of the patch that is like the one around it, or -1 */
function matched(
  { width, height, hole }: Level,
  colours: readonly Plane[],
  coarse: { readonly field: Int32Array; readonly width: number } | undefined,
  rounds: number,
): Int32Array {
  const sources = sourcesOf(hole, width, height);
  const field = new Int32Array(width * height).fill(-1);
  if (sources.length === 0) return field;
  const isSource = new Uint8Array(width * height);
  for (const at of sources) isSource[at] = 1;
  const random = generator();
  const targets: number[] = [];
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) if (touches(hole, width, height, x, y)) targets.push(y * width + x);
  const place = (at: number): number => {
    const [x, y] = [at % width, Math.floor(at / width)];
    const guess = coarse?.field[Math.min((y >> 1) * coarse.width + Math.min(x >> 1, coarse.width - 1), coarse.field.length - 1)] ?? -1;
    if (coarse !== undefined && guess >= 0) {
      const near = (2 * Math.floor(guess / coarse.width) + (y & 1)) * width + 2 * (guess % coarse.width) + (x & 1);
      if (isSource[near]) return near;
    }
    return sources[Math.floor(random() * sources.length)] as number;
  };
  for (const at of targets) field[at] = place(at);
  const cost = new Float32Array(width * height);
  const distance = (a: number, b: number, most: number): number => {
    const [x, y] = [a % width, Math.floor(a / width)];
    let sum = 0;
    for (let dy = Math.max(-HALF, -y); dy <= Math.min(HALF, height - 1 - y); dy++) {
      for (const { data } of colours)
        for (let dx = Math.max(-HALF, -x); dx <= Math.min(HALF, width - 1 - x); dx++) {
          const difference = (data[a + dy * width + dx] as number) - (data[b + dy * width + dx] as number);
          sum += difference * difference;
        }
      if (sum >= most) return sum;
    }
    return sum;
  };
  for (let round = 0; round < rounds; round++) {
    for (const at of targets) cost[at] = distance(at, field[at] as number, Number.POSITIVE_INFINITY);
    for (let search = 0; search < SEARCHES; search++) {
      const back = search % 2 === 1;
      for (let index = 0; index < targets.length; index++) {
        const at = targets[back ? targets.length - 1 - index : index] as number;
        const attempt = (candidate: number) => {
          if (candidate < 0 || candidate >= isSource.length || !isSource[candidate] || candidate === field[at]) return;
          const found = distance(at, candidate, cost[at] as number);
          if (found < (cost[at] as number)) [cost[at], field[at]] = [found, candidate];
        };
        const step = back ? 1 : -1;
        for (const offset of [step, step * width]) {
          const neighbour = field[at + offset] ?? -1;
          if (neighbour >= 0) attempt(neighbour - offset);
        }
        for (let reach = Math.max(width, height); reach >= 1; reach >>= 1) {
          const best = field[at] as number;
          const x = (best % width) + Math.round((2 * random() - 1) * reach);
          const y = Math.floor(best / width) + Math.round((2 * random() - 1) * reach);
          if (x >= 0 && y >= 0 && x < width && y < height) attempt(y * width + x);
        }
      }
    }
    vote({ width, height, hole }, colours, targets, field, cost);
  }
  return field;
}

function touches(hole: Uint8Array, width: number, height: number, x: number, y: number): boolean {
  for (let v = Math.max(0, y - HALF); v <= Math.min(height - 1, y + HALF); v++)
    for (let u = Math.max(0, x - HALF); u <= Math.min(width - 1, x + HALF); u++) if (hole[v * width + u]) return true;
  return false;
}

/** Each pixel of the hole becomes the mean of what the patches over it have there; those that fit well count more. */
function vote(
  { width, height, hole }: Pick<Level, 'width' | 'height' | 'hole'>,
  colours: readonly Plane[],
  targets: readonly number[],
  field: Int32Array,
  cost: Float32Array,
): void {
  const middle = [...targets.map((at) => cost[at] as number)].sort((a, b) => a - b)[Math.floor(targets.length * 0.75)] ?? 0;
  const spread = 1 / Math.max(1e-4, middle);
  const weights = new Float32Array(width * height);
  const sums = colours.map(() => new Float32Array(width * height));
  for (const at of targets) {
    const [x, y, from] = [at % width, Math.floor(at / width), field[at] as number];
    const weight = Math.exp(-(cost[at] as number) * spread) + 1e-6;
    for (let dy = Math.max(-HALF, -y); dy <= Math.min(HALF, height - 1 - y); dy++)
      for (let dx = Math.max(-HALF, -x); dx <= Math.min(HALF, width - 1 - x); dx++) {
        const to = at + dy * width + dx;
        if (!hole[to]) continue;
        weights[to] = (weights[to] as number) + weight;
        for (let c = 0; c < colours.length; c++)
          (sums[c] as Float32Array)[to] =
            ((sums[c] as Float32Array)[to] as number) + weight * ((colours[c] as Plane).data[from + dy * width + dx] as number);
      }
  }
  for (let at = 0; at < weights.length; at++)
    if (hole[at] && (weights[at] as number) > 0)
      for (let c = 0; c < colours.length; c++)
        (colours[c] as Plane).data[at] = ((sums[c] as Float32Array)[at] as number) / (weights[at] as number);
}

/** Mulberry32: numbers from 0 to 1, the same each time. */
function generator(): () => number {
  let state = 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
