/** Judges 3D models by readers of the kit's own: the triangles of their seed, where they stand, outside out, and in their colours. */
import { readFile } from 'node:fs/promises';
import { type Part, type Point, partsOf, placed, wholeOf } from '../../catalog/solids.ts';
import { remembered } from '../remembered.ts';
import { type Face, READERS } from './model-readers.ts';

/** Sources that say colours which Assimp reads, and targets that show them; formats of both sets hold colours of materials or of vertices. */
const COLOURED: Readonly<Record<string, 'materials' | 'vertices'>> = {
  obj: 'vertices',
  ply: 'vertices',
  amf: 'vertices',
  ...Object.fromEntries('gltf glb fbx dae 3ds 3mf x3d ac lwo ms3d x b3d'.split(' ').map((id) => [id, 'materials'] as const)),
};
const SHOWS: Readonly<Record<string, readonly ('materials' | 'vertices')[]>> = {
  obj: ['vertices'],
  ply: ['vertices'],
  gltf: ['materials', 'vertices'],
  glb: ['materials', 'vertices'],
  fbx: ['materials', 'vertices'],
  dae: ['materials', 'vertices'],
  x3d: ['materials', 'vertices'],
};

const NEAR = 0.01;
/** Out of 255: an 8-bit value went through linear light. */
const LIKE = 3;

const facesIn = remembered(async (path: string, format: string): Promise<readonly Face[]> => {
  const reader = READERS[format];
  if (reader === undefined) throw new Error(`no judge for models of the format ${format}`);
  return reader(await readFile(path), path);
});

/** @throws unless the file shows the solids of that seed */
export async function judge(path: string, target: string, seed: string, source: string): Promise<void> {
  const faces = await facesIn(path, target);
  const parts = partsOf(seed);
  const { points, triangles } = wholeOf(parts);
  if (faces.length !== triangles.length) throw new Error(`${faces.length} triangles, not ${triangles.length}`);
  const seen = faces.flatMap(({ corners }) => corners);
  const [[low, high], [expectedLow, expectedHigh]] = [boxOf(seen), boxOf(points)];
  if (distance(low, expectedLow) > NEAR || distance(high, expectedHigh) > NEAR)
    throw new Error(`it lies between ${low} and ${high}, not between ${expectedLow} and ${expectedHigh}`);
  const expected = volumeOf(triangles.map((triangle) => triangle.map((at) => points[at] ?? [0, 0, 0])));
  const volume = volumeOf(faces.map(({ corners }) => corners));
  // A negative one is inside out.
  if (Math.abs(volume - expected) > expected * 0.001) throw new Error(`its volume is ${volume}, not ${expected}`);
  const held = COLOURED[source];
  if (held !== undefined && SHOWS[target]?.includes(held)) expectColours(faces, parts);
}

function expectColours(faces: readonly Face[], parts: readonly Part[]): void {
  for (const part of parts) {
    const corners = part.points.map((point) => placed(part, point));
    const own = faces.filter((face) => face.corners.every((corner) => corners.some((point) => distance(point, corner) < NEAR)));
    if (own.length !== part.triangles.length) throw new Error(`${own.length} triangles belong to the ${part.name}`);
    for (const { colour } of own)
      if (colour === undefined || part.colour.some((value, at) => Math.abs(value - (colour[at] ?? -999) * 255) > LIKE))
        throw new Error(`the ${part.name} is ${colour?.map((value) => Math.round(value * 255))}, not ${part.colour}`);
  }
}

const boxOf = (points: readonly Point[]): readonly [Point, Point] => {
  const along = (pick: (...values: readonly number[]) => number): Point => [
    pick(...points.map(([x]) => x)),
    pick(...points.map(([, y]) => y)),
    pick(...points.map(([, , z]) => z)),
  ];
  return [along(Math.min), along(Math.max)];
};

const distance = (one: Point, other: Point): number => Math.hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);

/** The volume of closed bodies whose triangles are counter-clockwise from outside: the sum of the tetrahedra to the origin. */
const volumeOf = (faces: readonly (readonly Point[])[]): number =>
  faces.reduce((sum, [a = [0, 0, 0], b = [0, 0, 0], c = [0, 0, 0]]) => {
    const cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]] as const;
    return sum + (a[0] * cross[0] + a[1] * cross[1] + a[2] * cross[2]) / 6;
  }, 0);
