/** Triangles of meshes that nodes of a glTF mirror: what is shared stays shared, and how many are written is bounded. */
import { describe, expect, it } from 'vitest';
import { type Gltf, type GltfFile, read, write } from '../../../../src/exec/programs/models3d/gltf/container.ts';
import { turnMirrored } from '../../../../src/exec/programs/models3d/gltf/mirrored.ts';

const [TRIANGLES, STRIP, FAN] = [4, 5, 6];
type Changeable = GltfFile & { buffers: (Buffer | undefined)[] };
type Primitive = { readonly attributes: { readonly POSITION: number }; readonly indices?: number; readonly mode?: number };

/** Its first accessor has places, its second corners, in a buffer that ends amid four bytes. */
function mirroring(primitives: readonly Primitive[], corners: readonly number[], places = 100): Changeable {
  const bytes = Buffer.from([...corners, 255]);
  const mirrored = { mesh: 0, scale: [-1, 1, 1], children: [] };
  const json: Gltf = {
    asset: { version: '2.0' },
    nodes: [mirrored],
    meshes: [{ primitives }],
    accessors: [
      { componentType: 5126, count: places, type: 'VEC3' },
      { bufferView: 0, componentType: 5121, count: corners.length, type: 'SCALAR' },
    ],
    bufferViews: [{ buffer: 0, byteLength: corners.length }],
    buffers: [{ byteLength: bytes.length }],
  };
  return { json, buffers: [bytes] };
}

/** @returns the corners of each primitive of the mesh that the node has now, as a reader of the written file finds them */
function turned(file: Changeable): readonly (readonly number[])[] {
  turnMirrored(file);
  const { json, buffers } = read(write(file, 'glb'));
  const [node] = json.nodes as unknown as readonly { readonly mesh: number }[];
  const { primitives = [] } = json.meshes?.[node?.mesh ?? 0] ?? {};
  return (primitives as readonly Primitive[]).map(({ indices = -1, mode }) => {
    const accessor = json.accessors?.[indices];
    const { byteOffset = 0 } = json.bufferViews?.[accessor?.bufferView ?? -1] ?? {};
    expect([accessor?.componentType, byteOffset % 4, mode]).toEqual([5125, 0, TRIANGLES]);
    return Array.from({ length: accessor?.count ?? 0 }, (_, at) => buffers[0]?.readUInt32LE(byteOffset + at * 4) ?? -1);
  });
}

const POSITION = { attributes: { POSITION: 0 } };

describe('the mesh of a node that mirrors it', () => {
  it('has its triangles in the other order, in each mode', () => {
    const primitives = [
      { ...POSITION, indices: 1 },
      { ...POSITION, indices: 1, mode: STRIP },
      { ...POSITION, indices: 1, mode: FAN },
      POSITION,
    ];
    expect(turned(mirroring(primitives, [9, 8, 7, 6], 3))).toEqual([
      [9, 7, 8],
      [9, 7, 8, 8, 7, 6],
      [9, 7, 8, 9, 6, 7],
      [0, 2, 1],
    ]);
  });

  it('has the triangles once that its primitives share', () => {
    const corners = Array.from({ length: 240 }, (_, at) => at);
    const file = mirroring(
      Array.from({ length: 20_000 }, () => ({ ...POSITION, indices: 1 })),
      corners,
    );
    const { length } = write(file, 'glb');
    expect(turned(file)).toHaveLength(20_000);
    expect(file.json.accessors).toHaveLength(3);
    expect(file.buffers[0]?.length).toBe(244 + 240 * 4);
    expect(write(file, 'glb').length).toBeLessThan(4 * length);
  });

  it.each<[string, Changeable]>([
    ['in one accessor without bytes', mirroring([POSITION], [0, 1, 2], 1 << 28)],
    ['in several', mirroring([POSITION, { ...POSITION, mode: STRIP }], [0, 1, 2], 9_000_000)],
  ])('is refused where it has too many triangles %s', (_, file) => {
    expect(() => turnMirrored(file)).toThrow(
      expect.objectContaining({
        reason: 'input_limit',
        details: expect.objectContaining({ limit: 'mirrored triangles', max: 10_000_000 }),
      }),
    );
  });
});
