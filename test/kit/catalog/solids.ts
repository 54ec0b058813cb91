/** What a seeded 3D model shows: a box and a pyramid of known sizes, places and colours, the same in every format. */
import { createHash } from 'node:crypto';
import { type Colour, PALETTE } from './scene.ts';

export type Point = readonly [x: number, y: number, z: number];
export type Triangle = readonly [a: number, b: number, c: number];

/** One body, in its own coordinates: right-handed, corners of a triangle counter-clockwise where they are seen from outside. */
export interface Part {
  readonly name: string;
  readonly colour: Colour;
  readonly points: readonly Point[];
  readonly triangles: readonly Triangle[];
  /** For each point, where it lies in a texture. */
  readonly uvs: readonly (readonly [u: number, v: number])[];
  /** Where the body stands: turned by a quarter around z first, or not, then moved. */
  readonly turned: boolean;
  readonly moved: Point;
}

/** The same for the same seed. Whole numbers, so that formats of 8 and 16 bits hold them exactly. */
export function partsOf(seed: string): readonly [Part, Part] {
  const digest = createHash('sha256').update(seed).digest();
  const within = (at: number, least: number, most: number): number => least + ((digest[at] ?? 0) % (most - least + 1));
  const first = within(0, 0, PALETTE.length - 1);
  const colourAt = (at: number): Colour => PALETTE[at % PALETTE.length] ?? [0, 0, 0];
  const [w, h, d] = [within(1, 4, 7), within(2, 2, 5), within(3, 8, 12)];
  const [side, height] = [within(4, 2, 6) * 2, within(5, 7, 11)];
  return [
    {
      name: 'Box',
      colour: colourAt(first),
      points: Array.from({ length: 8 }, (_, corner): Point => [corner & 1 ? w : 0, corner & 2 ? h : 0, corner & 4 ? d : 0]),
      triangles: [
        [0, 2, 3],
        [0, 3, 1],
        [4, 5, 7],
        [4, 7, 6],
        [0, 4, 6],
        [0, 6, 2],
        [1, 3, 7],
        [1, 7, 5],
        [0, 1, 5],
        [0, 5, 4],
        [2, 6, 7],
        [2, 7, 3],
      ],
      uvs: Array.from({ length: 8 }, (_, corner) => [corner & 1 ? 0.75 : 0.25, corner & 2 ? 1 : corner & 4 ? 0.5 : 0] as const),
      turned: false,
      moved: [within(6, 1, 9), 3, 2],
    },
    {
      name: 'Pyramid',
      colour: colourAt(first + within(7, 1, PALETTE.length - 1)),
      points: [
        [-side / 2, 0, -side / 2],
        [side / 2, 0, -side / 2],
        [side / 2, 0, side / 2],
        [-side / 2, 0, side / 2],
        [0, height, 0],
      ],
      triangles: [
        [0, 1, 2],
        [0, 2, 3],
        [0, 4, 1],
        [1, 4, 2],
        [2, 4, 3],
        [3, 4, 0],
      ],
      uvs: [
        [0, 0],
        [1, 0],
        [1, 1],
        [0, 1],
        [0.5, 0.5],
      ],
      turned: true,
      moved: [20, within(8, 10, 14), within(9, 10, 14)],
    },
  ];
}

/** A point of a part in the coordinates of the whole. */
export const placed = ({ turned, moved: [mx, my, mz] }: Part, [x, y, z]: Point): Point =>
  turned ? [mx - y, my + x, mz + z] : [mx + x, my + y, mz + z];

/** Both parts as one list of points, with their triangles. */
export function wholeOf(parts: readonly Part[]): { points: readonly Point[]; triangles: readonly Triangle[] } {
  const points: Point[] = [];
  const triangles: Triangle[] = [];
  for (const part of parts) {
    const from = points.length;
    for (const point of part.points) points.push(placed(part, point));
    for (const [a, b, c] of part.triangles) triangles.push([a + from, b + from, c + from]);
  }
  return { points, triangles };
}
