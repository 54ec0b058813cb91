/** Whether a picture shows the grid of a seed: each cell must be the colour, the grey or the black or white that it should. */
import { CELLS, type Colour, isLight, luma, PALETTE } from '../../catalog/scene.ts';
import type { Picture } from './pixels.ts';

/** Distance in RGB that codecs may move a colour; palette colours lie further than twice that apart. */
const TOLERANCE = 60;
/** The same for brightness, between the formulas of Rec. 601 and 709 and dithering. */
const GREY_TOLERANCE = 50;

/** @throws where a cell is not what the seed says, naming it */
export function expectGrid(picture: Picture, cells: readonly Colour[]): void {
  const seen = cellsOf(picture);
  const grey = seen.every(([red, green, blue]) => Math.max(red, green, blue) - Math.min(red, green, blue) < 12);
  const bilevel = grey && seen.every((colour) => luma(colour) < 40 || luma(colour) > 215);
  for (const [place, expected] of cells.entries()) {
    const found = seen[place] ?? [0, 0, 0];
    const right = bilevel ? isLight(found) === isLight(expected) : grey ? greyMatches(found, expected) : colourMatches(found, expected);
    if (!right) throw new Error(`cell ${place} is ${found.map(Math.round)}, not ${expected}`);
  }
}

const distance = (a: Colour, b: Colour): number => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);

/** Near what it should be, and nearer to it than to any other colour of the palette. */
const colourMatches = (found: Colour, expected: Colour): boolean =>
  distance(found, expected) <= TOLERANCE && PALETTE.every((other) => distance(found, expected) <= distance(found, other));

const greyMatches = (found: Colour, expected: Colour): boolean =>
  Math.abs(luma(found) - luma(expected)) <= GREY_TOLERANCE && luma(found) > 110 === isLight(expected);

/** The mean of the middle of each cell, inside what is opaque: an icon is a square with the picture in its middle. */
function cellsOf({ width, height, pixels }: Picture): Colour[] {
  const box = opaque({ width, height, pixels });
  return Array.from({ length: CELLS * CELLS }, (_, place) => {
    const [column, row] = [place % CELLS, Math.floor(place / CELLS)];
    const along = (start: number, size: number, cell: number, share: number) => start + Math.round(((cell + share) * size) / CELLS);
    const sum = [0, 0, 0, 0];
    for (let y = along(box.y, box.height, row, 0.25); y < along(box.y, box.height, row, 0.75); y++)
      for (let x = along(box.x, box.width, column, 0.25); x < along(box.x, box.width, column, 0.75); x++) {
        for (let channel = 0; channel < 3; channel++) sum[channel] = (sum[channel] ?? 0) + (pixels[(y * width + x) * 4 + channel] ?? 0);
        sum[3] = (sum[3] ?? 0) + 1;
      }
    const [red = 0, green = 0, blue = 0, count = 1] = sum;
    return [red / count, green / count, blue / count] as const;
  });
}

function opaque({ width, height, pixels }: Picture) {
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      if ((pixels[(y * width + x) * 4 + 3] ?? 0) > 127) {
        left = Math.min(left, x);
        right = Math.max(right, x);
        top = Math.min(top, y);
        bottom = Math.max(bottom, y);
      }
  if (right < left) throw new Error('the picture is wholly transparent');
  return { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
}
