/** 3D models: what is special about a source, and what its result must keep beyond the triangles of test/formats. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { partsOf } from '../../kit/catalog/solids.ts';
import { fbxText } from '../../kit/fixtures/models3d/fbx.ts';
import { asciiStl, embedded, gltfOf } from '../../kit/fixtures/models3d/models.ts';
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
