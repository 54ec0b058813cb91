/** 3D models: what is special about a source, and what its result must keep beyond the triangles of test/formats. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { partsOf } from '../../kit/catalog/solids.ts';
import { fbxText } from '../../kit/fixtures/models3d/fbx.ts';
import { asciiStl, embedded, gltfOf, packed3mf } from '../../kit/fixtures/models3d/models.ts';
import { type Face, READERS } from '../../kit/judges/models3d/model-readers.ts';
import { judge } from '../../kit/judges/models3d/models.ts';
import { convert, convertTo, type Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const SEED = 'orchard';
const parts = partsOf(SEED);
const { json } = gltfOf(parts, embedded);
/** The same model under one root, which stands elsewhere: its children make up for that. */
const underOneRoot = {
  ...json,
  nodes: [
    ...(json['nodes'] as { translation: readonly number[] }[]).map((node) => ({
      ...node,
      translation: node.translation.map((value, at) => value - (at + 1) * 10),
    })),
    { name: 'a "root" <of> both', children: [0, 1], translation: [10, 20, 30] },
  ],
  scenes: [{ nodes: [2] }],
};

let service: Pick<Service, 'url'>;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-models-'));
  service = await sharedService();
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const stored = async (name: string, content: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
};

describe('a model', () => {
  it.each([
    ['an STL as text', 'a.stl', asciiStl(parts), 'stl'],
    ['an FBX as text', 'a.fbx', fbxText(parts), 'fbx'],
  ])('%s is read', async (_, name, content, source) => {
    const { path } = await convertTo(service.url, folder, await stored(name, content), 'glb');
    await judge(path, 'glb', SEED, source);
  });

  it.each(['stl', 'dae', 'fbx', 'x3d'])('of which one root moves all keeps its place in %s', async (target) => {
    const { path } = await convertTo(service.url, folder, await stored('rooted.gltf', JSON.stringify(underOneRoot)), target);
    await judge(path, target, SEED, 'gltf');
  });

  it.each([
    ['that names a file with its materials is converted without them, and that is said', '# a\nmtllib a.mtl\n', true],
    ['without materials has nothing missing', '# mtllib a.mtl\n', false],
  ])('an OBJ %s', async (_, head, isSaid) => {
    const triangle = `${head}v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n`;
    const { job } = await convertTo(service.url, folder, await stored('named.obj', triangle), 'glb');
    expect(job.warnings.some(({ code }) => code === 'materials_missing')).toBe(isSaid);
  });

  it('changes nothing but its container from glTF to GLB', async () => {
    const whole = { ...json, extensionsUsed: ['VENDOR_any'], extensions: { VENDOR_any: { kept: [1, 2] } }, extras: { author: 'Ελληνικά' } };
    const { path } = await convertTo(service.url, folder, await stored('whole.gltf', JSON.stringify(whole)), 'glb');
    const glb = await readFile(path);
    const [{ byteLength }] = json['buffers'] as [{ byteLength: number }];
    const read = JSON.parse(glb.toString('utf8', 20, 20 + glb.readUInt32LE(12)));
    expect(read).toEqual({ ...whole, buffers: [{ byteLength }] });
    expect(glb.subarray(-byteLength)).toEqual(gltfOf(parts).bin);
  });

  it('keeps texture coordinates from glTF to OBJ', async () => {
    const { path } = await convertTo(service.url, folder, await stored('mapped.gltf', JSON.stringify(json)), 'obj');
    const seen = new Set((await readFile(path, 'utf8')).match(/^vt \S+ \S+/gm));
    // v counts from the other edge of the picture.
    expect(seen).toEqual(new Set(parts.flatMap(({ uvs }) => uvs.map(([u, v]) => `vt ${u} ${1 - v}`))));
  });
});

describe('a model that cannot be read', () => {
  it.each([
    ['has its buffers in other files', { ...json, buffers: [{ uri: 'scene.bin', byteLength: 476 }] }, /other files/],
    ['is compressed', { ...json, extensionsRequired: ['KHR_draco_mesh_compression'] }, /compressed/],
    ['is glTF 1', { ...json, asset: { version: '1.0' } }, /glTF 1\.0/],
  ])('as it %s is told what it is', async (_, content, says) => {
    const { error } = await convert(service.url, await stored('odd.gltf', JSON.stringify(content)), 'stl');
    expect(error).toMatchObject({
      code: 'CONVERSION_FAILED',
      message: expect.stringMatching(says),
      details: { reason: 'unsupported_variant' },
    });
  });
});

/** Positive where the triangles of a body show outside, counted against the clock. */
const volumeOf = (faces: readonly Face[]): number =>
  faces.reduce((sum, { corners: [a, b, c] }) => {
    const [ax = 0, ay = 0, az = 0] = a ?? [];
    const [bx = 0, by = 0, bz = 0] = b ?? [];
    const [cx = 0, cy = 0, cz = 0] = c ?? [];
    return sum + (ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)) / 6;
  }, 0);

describe('a node that mirrors its mesh', () => {
  const nodes = json['nodes'] as readonly object[];
  it.each([
    ['by its scale', { ...json, nodes: nodes.map((node) => ({ ...node, scale: [-1, 1, 1] })) }],
    [
      'by what it stands in',
      { ...json, nodes: [...nodes, { children: [...nodes.keys()], scale: [1, 1, -1] }], scenes: [{ nodes: [nodes.length] }] },
    ],
  ])('%s leaves no body inside out', async (_, model) => {
    const whole = volumeOf(
      READERS['stl']?.(
        await readFile((await convertTo(service.url, folder, await stored('plain.gltf', JSON.stringify(json)), 'stl')).path),
        '',
      ) ?? [],
    );
    expect(whole).toBeGreaterThan(0);
    const file = await stored('mirrored.gltf', JSON.stringify(model));
    for (const target of ['stl', 'obj', 'ply', '3mf']) {
      const { path } = await convertTo(service.url, folder, file, target);
      const volume = volumeOf(READERS[target]?.(await readFile(path), path) ?? []);
      expect(volume / whole, target).toBeCloseTo(1, 2);
    }
  });
});

it.each([
  ['inch', 25.4],
  ['meter', 1000],
  ['centimeter', 10],
  ['millimeter', 1],
])('a 3MF in units of one %s is as large in millimetres', async (unit, factor) => {
  const corners = [
    [0, 0, 0],
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ];
  const faces = [
    [0, 2, 1],
    [0, 1, 3],
    [1, 2, 3],
    [0, 3, 2],
  ];
  const vertices = corners.map(([x, y, z]) => `<vertex x="${x}" y="${y}" z="${z}"/>`).join('');
  const triangles = faces.map(([a, b, c]) => `<triangle v1="${a}" v2="${b}" v3="${c}"/>`).join('');
  const model =
    `<?xml version="1.0"?><model unit="${unit}" xmlns="http://schemas.microsoft.com/3dmanufacturing/core/2015/02"><resources><object id="1" type="model">` +
    `<mesh><vertices>${vertices}</vertices><triangles>${triangles}</triangles></mesh></object></resources>` +
    '<build><item objectid="1" transform="1 0 0 0 1 0 0 0 1 2 0 0"/></build></model>';
  const source = await packed3mf(join(folder, `${unit}.3mf`), model);
  const { path } = await convertTo(service.url, folder, source, 'stl');
  const bytes = await readFile(path);
  const across = Array.from({ length: bytes.readUInt32LE(80) * 3 }, (_, at) =>
    bytes.readFloatLE(84 + Math.floor(at / 3) * 50 + 12 + (at % 3) * 12),
  );
  expect(Math.abs(Math.min(...across) / factor - 2)).toBeLessThan(1e-4);
  expect(Math.abs(Math.max(...across) / factor - 3)).toBeLessThan(1e-4);
});
