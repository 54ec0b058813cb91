/** 3D models made to reach for files and addresses, to ask for memory by lies about lengths, or to run in circles. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { latin1 } from '../../kit/catalog/bytes.ts';
import { partsOf } from '../../kit/catalog/solids.ts';
import { embedded, fixtures, glb, gltfOf, packed3mf } from '../../kit/fixtures/models3d/models.ts';
import { type Case, type Ground, proveHarmless, proveMutationsHarmless, type Trap } from './hostile.ts';

const TRIANGLE = 'v 0 0 0\nv 1 0 0\nv 0 1 0\n';
const parts = partsOf('hostile');
const gltf = (change: (json: Record<string, unknown>) => object): string => {
  const { json } = gltfOf(parts, embedded);
  return JSON.stringify({ ...json, ...change({ ...json }) });
};
const geometry = (json: Record<string, unknown>, key: string, change: object) =>
  (json[key] as object[]).map((row, at) => (at === 0 ? { ...row, ...change } : row));

/** Entities that double ten thousand million times. */
const BOMB = `<!DOCTYPE a [<!ENTITY a0 "0 0 0 ">${Array.from({ length: 33 }, (_, at) => `<!ENTITY a${at + 1} "&a${at};&a${at};">`).join('')}]>`;
const entity = ({ text }: Pick<Trap, 'text'>): string => `<!DOCTYPE a [<!ENTITY e SYSTEM "file://${text}">]>`;
const dae = (head: string, points: string): string =>
  `<?xml version="1.0"?>${head}<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><library_geometries><geometry id="g"><mesh><source id="p"><float_array id="f" count="9">${points}</float_array><technique_common><accessor source="#f" count="3" stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles></mesh></geometry></library_geometries><library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>`;
const x3d = (head: string, inside: string, points = '0 0 0 1 0 0 0 1 0'): string =>
  `<?xml version="1.0"?>${head}<X3D><Scene>${inside}<Shape><IndexedFaceSet coordIndex="0 1 2 -1"><Coordinate point="${points}"/></IndexedFaceSet></Shape></Scene></X3D>`;
const amf = (head: string, x: string): string =>
  `<?xml version="1.0"?>${head}<amf><object id="1"><mesh><vertices>${[x, '1', '0'].map((one) => `<vertex><coordinates><x>${one}</x><y>0</y><z>${one}</z></coordinates></vertex>`).join('')}</vertices><volume><triangle><v1>0</v1><v2>1</v2><v3>2</v3></triangle></volume></mesh></object></amf>`;

const threeMf = async (model: string): Promise<Buffer> => {
  const folder = await mkdtemp(join(tmpdir(), 'hostile-3mf-'));
  try {
    return readFileSync(await packed3mf(join(folder, 'a.3mf'), model));
  } finally {
    await rm(folder, { recursive: true });
  }
};

const any: Pick<Case, 'ends'> = { ends: ['fail', 'neutral'] };
const damaged = { ends: 'fail', why: ['corrupt_input', 'engine_crashed', 'memory'] } as const;

const REACHING: Case[] = [
  {
    name: 'an OBJ whose materials are a file of the server',
    as: 'a.obj',
    to: 'dae',
    file: ({ text }) => `mtllib ${text}\nmtllib ../../../../../..${text}\n${TRIANGLE}usemtl a\nf 1 2 3\n`,
    ends: 'neutral',
  },
  {
    name: 'an OBJ whose materials are the password file',
    as: 'a.obj',
    to: 'gltf',
    file: `mtllib /etc/passwd\n${TRIANGLE}f 1 2 3\n`,
    ends: 'neutral',
  },
  {
    name: 'a glTF whose buffer is a file of the server',
    as: 'a.gltf',
    to: 'stl',
    file: ({ text }) => gltf((json) => ({ buffers: geometry(json, 'buffers', { uri: `file://${text}` }) })),
    ends: 'fail',
    why: 'unsupported_variant',
  },
  {
    name: 'a glTF whose buffer is a path, to GLB',
    as: 'a.gltf',
    to: 'glb',
    file: ({ text }) => gltf((json) => ({ buffers: geometry(json, 'buffers', { uri: `../../../../..${text}` }) })),
    ends: 'fail',
    why: 'unsupported_variant',
  },
  {
    name: 'a glTF whose buffer is an address',
    as: 'a.gltf',
    to: 'obj',
    file: ({ url }) => gltf((json) => ({ buffers: geometry(json, 'buffers', { uri: `${url}/a.bin` }) })),
    ends: 'fail',
    why: 'unsupported_variant',
  },
  {
    name: 'a glTF with a picture of the server',
    as: 'a.gltf',
    to: 'glb',
    file: ({ picture }) => gltf(() => ({ images: [{ uri: `file://${picture}` }, { uri: picture }] })),
    ends: 'neutral',
  },
  {
    name: 'a glTF with a picture of the server as a texture',
    as: 'a.gltf',
    to: 'fbx',
    file: ({ picture }) =>
      gltf(() => ({
        images: [{ uri: picture }],
        textures: [{ source: 0 }],
        materials: [{ pbrMetallicRoughness: { baseColorTexture: { index: 0 } } }],
      })),
    ...any,
  },
  { name: 'a COLLADA with an external entity', as: 'a.dae', to: 'x3d', file: (trap) => dae(entity(trap), '0 0 0 1 0 0 0 1 0 &e;'), ...any },
  { name: 'an X3D with an external entity', as: 'a.x3d', to: 'dae', file: (trap) => x3d(entity(trap), '<Transform DEF="&e;"/>'), ...any },
  {
    name: 'an X3D that includes another',
    as: 'a.x3d',
    to: 'obj',
    file: ({ text, url }) => x3d('', `<Inline url='"${text}" "${url}/a.x3d"'/>`),
    ...any,
  },
  { name: 'an AMF with an external entity', as: 'a.amf', to: 'ply', file: (trap) => amf(entity(trap), '&e;'), ...any },
];

const LYING: Case[] = [
  {
    name: 'a PLY of 10^18 points',
    as: 'a.ply',
    to: 'stl',
    file: `ply\nformat ascii 1.0\nelement vertex 1000000000000000000\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n3 0 0 0\n`,
    ...damaged,
  },
  {
    name: 'a binary PLY of four thousand million faces',
    as: 'a.ply',
    to: 'obj',
    file: latin1(
      'ply\nformat binary_little_endian 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nelement face 4294967295\nproperty list uint int vertex_indices\nend_header\n\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff',
    ),
    ...damaged,
  },
  {
    name: 'an OBJ whose face has huge indices',
    as: 'a.obj',
    to: 'stl',
    file: `${TRIANGLE}f 1 2 2147483647\nf -2147483648 1 2\nf 1 99999999999999999999 2\n`,
    ...any,
  },
  {
    name: 'an OBJ that repeats a point in a face of 200,000 corners',
    as: 'a.obj',
    to: 'stl',
    file: `${TRIANGLE}f${' 1 2 3'.repeat(66_000)}\n`,
    ...any,
  },
  { name: 'an OFF of four thousand million points', as: 'a.off', to: 'stl', file: 'OFF\n4294967295 4294967295 0\n0 0 0\n', ...damaged },
  {
    name: 'a glTF whose accessor lies outside',
    as: 'a.gltf',
    to: 'stl',
    file: gltf((json) => ({ accessors: geometry(json, 'accessors', { count: 1_000_000_000 }) })),
    ends: 'fail',
    why: 'corrupt_input',
  },
  {
    name: 'a glTF whose view lies outside',
    as: 'a.gltf',
    to: 'glb',
    file: gltf((json) => ({ bufferViews: geometry(json, 'bufferViews', { byteOffset: -4 }) })),
    ends: 'fail',
    why: 'corrupt_input',
  },
  {
    name: 'a GLB whose chunk is longer than the file',
    as: 'a.glb',
    to: 'obj',
    file: () => {
      const { json, bin } = gltfOf(parts);
      const bytes = glb(json, bin);
      bytes.writeUInt32LE(0xffff_fff0, 12);
      return bytes;
    },
    ends: 'fail',
    why: 'corrupt_input',
  },
  {
    name: 'an MD3 with offsets outside',
    as: 'a.md3',
    to: 'stl',
    file: () => {
      const bytes = Buffer.alloc(400);
      bytes.write('IDP3\x0f', 'latin1');
      bytes.fill(0x7f, 72, 108);
      return bytes;
    },
    ...damaged,
  },
  { name: 'an MS3D of more points than bytes', as: 'a.ms3d', to: 'stl', file: latin1('MS3D000000\x04\0\0\0\xff\xff\0\0'), ...damaged },
];

const CIRCLING: Case[] = [
  {
    name: 'a glTF whose nodes form a ring',
    as: 'a.gltf',
    to: 'stl',
    file: gltf(() => ({ nodes: [{ children: [1] }, { children: [0], mesh: 0 }] })),
    ends: 'fail',
    why: 'corrupt_input',
  },
  {
    name: 'a glTF of which nodes share a child',
    as: 'a.gltf',
    to: 'dae',
    file: gltf(() => ({
      nodes: Array.from({ length: 40 }, (_, at) => (at < 39 ? { children: [at + 1, at + 1] } : { mesh: 0 })),
      scenes: [{ nodes: [0] }],
    })),
    ends: 'fail',
    why: 'corrupt_input',
  },
  {
    name: 'a glTF with nodes 100,000 deep',
    as: 'a.gltf',
    to: 'obj',
    file: gltf(() => ({
      nodes: Array.from({ length: 100_000 }, (_, at) => (at < 99_999 ? { children: [at + 1] } : { mesh: 0 })),
      scenes: [{ nodes: [0] }],
    })),
    ends: 'fail',
    why: 'corrupt_input',
  },
  {
    name: 'an FBX with records 20,000 deep',
    as: 'a.fbx',
    to: 'stl',
    file: `; FBX 7.4.0 project file\n${'N: {\n'.repeat(20_000)}${'}\n'.repeat(20_000)}`,
    ...damaged,
  },
  { name: 'a COLLADA with entities that double', as: 'a.dae', to: 'stl', file: dae(BOMB, '&a33;'), ...any },
  { name: 'an X3D with entities that double', as: 'a.x3d', to: 'stl', file: x3d(BOMB, '', '&a33;'), ...any },
  { name: 'an AMF with entities that double', as: 'a.amf', to: 'stl', file: amf(BOMB, '&a33;'), ...any },
  {
    name: 'a 3MF with entities that double',
    as: 'a.3mf',
    to: 'stl',
    file: () => threeMf(`<?xml version="1.0"?>${BOMB}<model><resources><object id="1">&a33;</object></resources></model>`),
    ...any,
  },
  {
    name: 'a 3MF of a gigabyte of blanks',
    as: 'a.3mf',
    to: 'stl',
    file: () => threeMf(`<?xml version="1.0"?><model>${' '.repeat(400 << 20)}</model>`),
    ends: ['fail', 'neutral'],
  },
  {
    name: 'a COLLADA with nodes 50,000 deep',
    as: 'a.dae',
    to: 'stl',
    file: `<?xml version="1.0"?><COLLADA version="1.4.1"><library_visual_scenes><visual_scene id="s">${'<node>'.repeat(50_000)}${'</node>'.repeat(50_000)}</visual_scene></library_visual_scenes></COLLADA>`,
    ...damaged,
  },
];

const ground: Ground = { honest: { name: 'honest.obj', bytes: Buffer.from(`${TRIANGLE}f 1 2 3\n# `), to: 'stl' } };

proveHarmless(ground, {
  'models that reach for what is not theirs': REACHING,
  'models that lie about lengths': LYING,
  'models that go deep or in circles': CIRCLING,
});

proveMutationsHarmless(
  ground,
  ['stl', 'ply', 'glb', 'fbx', '3ds', 'lwo', 'ms3d', 'md2', 'md3', 'b3d', 'x'].map((source) => ({
    source,
    to: source === 'stl' ? 'obj' : 'stl',
    bytes: async (folder) => readFileSync((await fixtures[source]?.('mutant', folder)) ?? expect.fail(`no ${source}`)),
  })),
  12,
);
