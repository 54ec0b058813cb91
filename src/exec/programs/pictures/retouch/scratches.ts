/** Finds scratches of old photos: long, thin and nearly straight lines that are much lighter, or darker, than both of their sides. */
import { greatest, least } from '../planes/filters.ts';
import { lumaOf, type Picture, type Plane } from '../planes/picture.ts';

/** Half of the greatest width of a scratch, px of a picture of 1000 px; wider for larger ones. */
const HALF_WIDTH = 2;
/** How much it differs from what is beside it. */
const CONTRAST = 0.12;
/** Share of the longer side: shorter lines are drawn, not scratched. */
const LENGTH = 0.12;

/** @returns 1 for each pixel to be replaced, and how many there are */
export function scratchesOf(picture: Picture): { readonly mask: Uint8Array; readonly count: number } {
  const { width, height } = picture;
  const luma = lumaOf(picture);
  const radius = Math.max(HALF_WIDTH, Math.min(4, Math.round((HALF_WIDTH * Math.max(width, height)) / 1000)));
  // What an opening takes away is thin and light, what a closing adds is thin and dark.
  const [opened, closed] = [greatest(least(luma, radius), radius), least(greatest(luma, radius), radius)];
  const mask = new Uint8Array(luma.data.length);
  for (const found of [
    luma.data.map((value, i) => value - (opened.data[i] as number)),
    luma.data.map((value, i) => (closed.data[i] as number) - value),
  ])
    markLines({ width, height, data: found }, mask);
  return grown(mask, width, height);
}

/** From a pixel to those that may continue a line in its direction, in steps of columns and rows; the opposite ones lead back. */
const DIRECTIONS: readonly (readonly (readonly [number, number])[])[] = [
  [
    [-1, -1],
    [0, -1],
    [1, -1],
  ],
  [
    [-1, -1],
    [-1, 0],
    [-1, 1],
  ],
  [
    [-1, -1],
    [0, -1],
    [-1, 0],
  ],
  [
    [1, -1],
    [0, -1],
    [1, 0],
  ],
];

/** Marks what lies on a long path that never turns back (Talbot and Appleton, "Efficient complete and incomplete path openings", 2007). */
function markLines({ width, height, data }: Plane, mask: Uint8Array): void {
  const least = LENGTH * Math.max(width, height);
  for (const steps of DIRECTIONS) {
    const before = longest(width, height, data, steps, false);
    const after = longest(width, height, data, steps, true);
    for (let at = 0; at < data.length; at++) if ((before[at] as number) + (after[at] as number) - 1 >= least) mask[at] = 1;
  }
}

/** The length of the longest path that ends in each pixel. */
function longest(
  width: number,
  height: number,
  data: Float32Array,
  steps: readonly (readonly [number, number])[],
  back: boolean,
): Uint16Array {
  const lengths = new Uint16Array(data.length);
  // Rows and columns are gone through so that what a step leads to is known already.
  const byColumns = steps.every(([dx]) => dx < 0);
  const rightwards = steps.every(([dx]) => dx <= 0) || !steps.some(([, dy]) => dy === 0);
  const line = byColumns ? height : width;
  for (let i = 0; i < data.length; i++) {
    const [outer, inner] = [Math.floor(i / line), i % line];
    const [column, row] = byColumns ? [outer, inner] : [rightwards ? inner : width - 1 - inner, outer];
    const [x, y] = back ? [width - 1 - column, height - 1 - row] : [column, row];
    const at = y * width + x;
    if ((data[at] as number) < CONTRAST) continue;
    let most = 0;
    for (const [dx, dy] of steps) {
      const [u, v] = back ? [x - dx, y - dy] : [x + dx, y + dy];
      if (u >= 0 && v >= 0 && u < width && v < height) most = Math.max(most, lengths[v * width + u] as number);
    }
    lengths[at] = most + 1;
  }
  return lengths;
}

/** With a pixel around each, in which the scratch fades. */
function grown(mask: Uint8Array, width: number, height: number): { readonly mask: Uint8Array; readonly count: number } {
  const result = new Uint8Array(mask.length);
  let count = 0;
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      search: for (let v = Math.max(0, y - 1); v <= Math.min(height - 1, y + 1); v++)
        for (let u = Math.max(0, x - 1); u <= Math.min(width - 1, x + 1); u++)
          if (mask[v * width + u]) {
            result[y * width + x] = 1;
            count++;
            break search;
          }
  return { mask: result, count };
}
