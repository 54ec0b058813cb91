/** Reverses the winding of triangles in mirrored nodes, as a reader of glTF does (glTF 2.0, 3.7.4): a converter that only moves the corners would not. */
import { endianness } from 'node:os';
import { beyond } from '../../data/values/value.ts';
import type { Accessor, GltfFile } from './container.ts';

interface Node {
  readonly children?: readonly number[];
  readonly matrix?: readonly number[];
  readonly scale?: readonly number[];
  mesh?: number;
}
interface Primitive {
  readonly attributes?: Readonly<Record<string, number>>;
  readonly indices?: number;
  readonly mode?: number;
}
interface Mesh {
  readonly primitives?: readonly Primitive[];
}

const [TRIANGLES, STRIP, FAN] = [4, 5, 6];
const [BYTE, SHORT, INTEGER] = [5121, 5123, 5125];
const BYTES: Readonly<Record<number, number>> = { [BYTE]: 1, [SHORT]: 2, [INTEGER]: 4 };

/** Triangles that are reversed, all together: each takes twelve bytes more. */
const MOST_TRIANGLES = 10_000_000;

type Changeable = GltfFile & { buffers: (Buffer | undefined)[] };

/**
 * Gives each mirrored node a mesh of its triangles in the other order. Nodes without one stay as they are.
 * @throws FileRefused `input_limit`
 */
export function turnMirrored(file: Changeable): void {
  const { json } = file;
  const [nodes, meshes] = [(json.nodes ?? []) as readonly Node[], [...((json.meshes ?? []) as readonly Mesh[])]];
  const turned = new Map<number, number>();
  const turn = turner(file);
  for (const index of mirroredIn(nodes)) {
    const node = nodes[index];
    const mesh = node?.mesh === undefined ? undefined : meshes[node.mesh];
    if (node?.mesh === undefined || mesh === undefined) continue;
    const known =
      turned.get(node.mesh) ?? meshes.push({ ...mesh, primitives: (mesh.primitives ?? []).map((each) => turn.primitive(each)) }) - 1;
    turned.set(node.mesh, known);
    node.mesh = known;
  }
  turn.store();
  if (turned.size > 0) (json as { meshes?: readonly Mesh[] }).meshes = meshes;
}

/** @returns numbers of the nodes that are mirrored by themselves and all that they stand in */
function mirroredIn(nodes: readonly Node[]): readonly number[] {
  const found: number[] = [];
  const inside = new Set(nodes.flatMap(({ children = [] }) => children));
  const open = [...nodes.keys()].filter((node) => !inside.has(node)).map((node) => ({ node, isMirrored: false }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const node = nodes[next.node];
    if (node === undefined) continue;
    const isMirrored = next.isMirrored !== mirrors(node);
    if (isMirrored) found.push(next.node);
    for (const child of node.children ?? []) open.push({ node: child, isMirrored });
  }
  return found;
}

function mirrors({ matrix, scale }: Node): boolean {
  if (matrix?.length !== 16) return (scale ?? []).filter((side) => side < 0).length % 2 === 1;
  const at = (index: number): number => matrix[index] ?? 0;
  const determinant =
    at(0) * (at(5) * at(10) - at(9) * at(6)) - at(4) * (at(1) * at(10) - at(9) * at(2)) + at(8) * (at(1) * at(6) - at(5) * at(2));
  return determinant < 0;
}

interface Turner {
  readonly primitive: (primitive: Primitive) => Primitive;
  /** Adds all triangles to the first buffer. */
  readonly store: () => void;
}

function turner(file: Changeable): Turner {
  const { json, buffers } = file;
  const before = json.accessors?.length ?? 0;
  /** Their numbers will be those behind the file's accessors. */
  const added: Uint32Array[] = [];
  /** Primitives that have the same corners in the same mode share them; undefined: they cannot be turned. */
  const known = new Map<string, number | undefined>();
  let triangles = 0;

  function accessorFor(primitive: Primitive, mode: number): number | undefined {
    const { indices, attributes } = primitive;
    const key = `${mode} ${indices === undefined ? `of ${attributes?.['POSITION']}` : indices}`;
    if (known.has(key)) return known.get(key);
    const corners = cornersOf(file, primitive);
    const count = corners === undefined ? 0 : Math.max(0, mode === TRIANGLES ? Math.floor(corners.count / 3) : corners.count - 2);
    triangles += count;
    if (triangles > MOST_TRIANGLES) throw beyond('mirrored triangles', MOST_TRIANGLES, triangles);
    const number = corners === undefined ? undefined : before + added.push(turnedRound(corners.at, count, mode)) - 1;
    known.set(key, number);
    return number;
  }

  return {
    primitive(primitive) {
      const { mode = TRIANGLES } = primitive;
      const indices = [TRIANGLES, STRIP, FAN].includes(mode) ? accessorFor(primitive, mode) : undefined;
      return indices === undefined ? primitive : { ...primitive, mode: TRIANGLES, indices };
    },
    store() {
      if (added.length === 0) return;
      const [first, ...others] = json.buffers ?? [];
      const from = first?.byteLength ?? 0;
      let end = Math.ceil(from / 4) * 4;
      const pieces = [...(buffers[0] === undefined ? [] : [buffers[0].subarray(0, from)])];
      pieces.push(Buffer.alloc(end - (pieces[0]?.length ?? 0)));
      const [views, accessors] = [[...(json.bufferViews ?? [])], [...(json.accessors ?? [])]];
      for (const corners of added) {
        const bytes = littleEndian(corners);
        const bufferView = views.push({ buffer: 0, byteOffset: end, byteLength: bytes.length }) - 1;
        accessors.push({ bufferView, componentType: INTEGER, count: corners.length, type: 'SCALAR' } satisfies Accessor);
        pieces.push(bytes);
        end += bytes.length;
      }
      buffers[0] = Buffer.concat(pieces);
      Object.assign(json, { buffers: [{ ...first, byteLength: end }, ...others], bufferViews: views, accessors });
    },
  };
}

interface Corners {
  readonly count: number;
  readonly at: (index: number) => number;
}

/** @returns the corners of a primitive in the file's order; undefined where the file does not have them all */
function cornersOf({ json, buffers }: GltfFile, { indices, attributes }: Primitive): Corners | undefined {
  const places = json.accessors?.[attributes?.['POSITION'] ?? -1];
  if (indices === undefined) return { count: places?.count ?? 0, at: (index) => index };
  const accessor = json.accessors?.[indices];
  const view = json.bufferViews?.[accessor?.bufferView ?? -1];
  const bytes = buffers[view?.buffer ?? -1];
  const size = BYTES[accessor?.componentType ?? 0];
  if (accessor === undefined || view === undefined || bytes === undefined || size === undefined) return undefined;
  const from = (view.byteOffset ?? 0) + (accessor.byteOffset ?? 0);
  return { count: accessor.count, at: (index) => bytes.readUIntLE(from + index * (view.byteStride ?? size), size) };
}

/** @returns three corners for each triangle, the last two of them exchanged */
function turnedRound(corner: Corners['at'], triangles: number, mode: number): Uint32Array {
  const corners = new Uint32Array(triangles * 3);
  for (let at = 0; at < triangles; at++) {
    const first = mode === TRIANGLES ? at * 3 : mode === FAN ? 0 : at;
    const second = mode === TRIANGLES ? first + 1 : at + 1;
    // Every other triangle of a strip is turned already.
    const isTurned = mode !== STRIP || at % 2 === 0;
    corners[at * 3] = corner(first);
    corners[at * 3 + 1] = corner(isTurned ? second + 1 : second);
    corners[at * 3 + 2] = corner(isTurned ? second : second + 1);
  }
  return corners;
}

function littleEndian(values: Uint32Array): Buffer {
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  return endianness() === 'LE' ? bytes : bytes.swap32();
}
