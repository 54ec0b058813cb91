/** Runs a model that enlarges on pictures of any size: piece by piece, since its memory grows with the pixels that it is given. */
import { type Plane, plane } from '../planes/picture.ts';

/** How a picture is cut, px. */
export interface Tiling {
  /** A piece has this side. */
  readonly side: number;
  /** What a piece is given of its neighbours on each side. */
  readonly margin: number;
  /** The sides of what the model is given are multiples of it. */
  readonly multiple: number;
}

/**
 * What a piece is given of its neighbours on each side, px. The model looks further: pixels at a cut differ by 3 of 255 (root mean square) from those of a
 * picture in one piece, without a step that shows. Real-ESRGAN's own programs give 10.
 */
const ENLARGING: Tiling = { side: 160, margin: 12, multiple: 1 };

/** Planes of red, green and blue, one behind the other; the result has `factor` times the sides. */
export type Enlarging = (colours: Float32Array, width: number, height: number) => Promise<Float32Array>;

/** @param colours red, green and blue */
export async function enlargedInTiles(
  colours: readonly [Plane, Plane, Plane],
  factor: number,
  enlarge: Enlarging,
  progress: (fraction: number) => void,
  { side, margin, multiple }: Tiling = ENLARGING,
): Promise<readonly [Plane, Plane, Plane]> {
  const [{ width, height }] = colours;
  const results = colours.map(() => plane(width * factor, height * factor)) as [Plane, Plane, Plane];
  const [across, down] = [Math.ceil(width / side), Math.ceil(height / side)];
  for (let i = 0; i < across * down; i++) {
    const [left, top] = [(i % across) * side, Math.floor(i / across) * side];
    const tile = { left, top, right: Math.min(width, left + side), bottom: Math.min(height, top + side) };
    const whole = (from: number, to: number) => from + Math.ceil((to - from) / multiple) * multiple;
    const [first, above] = [left - margin, top - margin];
    const given = { left: first, top: above, right: whole(first, tile.right + margin), bottom: whole(above, tile.bottom + margin) };
    const large = await enlarge(cut(colours, given), given.right - given.left, given.bottom - given.top);
    paste(results, large, tile, given, factor);
    progress((i + 1) / (across * down));
  }
  return results;
}

/** The right and the bottom side are not part of it. */
interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Beyond the picture's edges it is mirrored: a noisy last pixel that goes on would be a line, and the model would draw it. */
function cut(colours: readonly Plane[], { left, top, right, bottom }: Box): Float32Array {
  const piece = new Float32Array(colours.length * (right - left) * (bottom - top));
  let at = 0;
  for (const { data, width, height } of colours)
    for (let y = top; y < bottom; y++) {
      const row = mirrored(y, height) * width;
      for (let x = left; x < right; x++, at++) piece[at] = data[row + mirrored(x, width)] as number;
    }
  return piece;
}

/** The place in a line of `count` pixels; in one that is shorter than a margin, the last one. */
function mirrored(place: number, count: number): number {
  const inside = place < 0 ? -place : place >= count ? 2 * (count - 1) - place : place;
  return Math.max(0, Math.min(count - 1, inside));
}

/** @param tile what is taken of the enlarged piece, in pixels of the source */
function paste(results: readonly Plane[], large: Float32Array, tile: Box, given: Box, factor: number): void {
  const wide = (given.right - given.left) * factor;
  const pixels = wide * (given.bottom - given.top) * factor;
  if (large.length !== results.length * pixels)
    throw new Error(`expected ${results.length * pixels} samples of the model, received ${large.length}`);
  for (const [channel, { data, width }] of results.entries())
    for (let y = tile.top * factor; y < tile.bottom * factor; y++) {
      const from = channel * pixels + (y - given.top * factor) * wide + (tile.left - given.left) * factor;
      data.set(large.subarray(from, from + (tile.right - tile.left) * factor), y * width + tile.left * factor);
    }
}
