/** What a seeded picture shows and a seeded recording sounds like: the same in every format, so that any conversion can be judged by it. */
import { createHash } from 'node:crypto';

export type Colour = readonly [red: number, green: number, blue: number];

/** Cells a side of the picture. */
export const CELLS = 4;
/** A recording has as many phases as the picture has rows, each this many seconds long. */
export const PHASE_SECONDS = 0.5;

/** Four dark and four light colours: dark and light stay apart in grey and in black and white too. */
const DARK: readonly Colour[] = [
  [0, 0, 190],
  [150, 0, 0],
  [0, 80, 0],
  [90, 0, 110],
];
const LIGHT: readonly Colour[] = [
  [255, 235, 0],
  [0, 230, 255],
  [110, 255, 90],
  [255, 150, 110],
];
export const PALETTE: readonly Colour[] = [...DARK, ...LIGHT];

/** Hz. No one is near another's harmonics, and all pass a telephone's band. */
export const PITCHES = [330, 410, 480, 570, 700, 890, 1070, 1270, 1510, 1830, 2250, 2710] as const;

export interface Scene {
  /** Sixteen cells, row by row. */
  readonly cells: readonly Colour[];
  /** Hz, one for each phase. */
  readonly tones: readonly number[];
}

export function sceneOf(seed: string): Scene {
  const digest = createHash('sha256').update(seed).digest();
  const cells = Array.from({ length: CELLS * CELLS }, (_, place): Colour => {
    const byte = digest[place] ?? 0;
    return (byte & 4 ? LIGHT : DARK)[byte & 3] ?? [0, 0, 0];
  });
  const tones: number[] = [];
  for (let phase = 0; phase < CELLS; phase++) {
    // Neighbours differ, so that a recording that stands still is noticed.
    const left = PITCHES.filter((pitch) => pitch !== tones.at(-1));
    tones.push(left[(digest[16 + phase] ?? 0) % left.length] ?? 0);
  }
  return { cells, tones };
}

/** The picture in a phase of a recording: its rows move up by one each time, so that phase 0 is the picture itself. */
export const phaseOf = ({ cells }: Scene, phase: number): readonly Colour[] => [
  ...cells.slice(phase * CELLS),
  ...cells.slice(0, phase * CELLS),
];

export const luma = ([red, green, blue]: Colour): number => 0.299 * red + 0.587 * green + 0.114 * blue;
export const isLight = (colour: Colour): boolean => luma(colour) > 110;

/** Pixels, three bytes each, row by row. @param paint what becomes of each cell's colour */
export function pixelsOf(
  cells: readonly Colour[],
  width: number,
  height: number,
  paint: (colour: Colour) => Colour = (colour) => colour,
): Buffer {
  const pixels = Buffer.alloc(width * height * 3);
  const painted = cells.map(paint);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const colour = painted[Math.floor((y * CELLS) / height) * CELLS + Math.floor((x * CELLS) / width)] ?? [0, 0, 0];
      pixels.set(colour, (y * width + x) * 3);
    }
  return pixels;
}
