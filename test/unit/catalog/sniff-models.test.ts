/** 3D models by their content: variants that programs write, and files that begin like one. */
import { describe, expect, it } from 'vitest';
import { detect } from '../../../src/catalog/sniff/sniff.ts';
import { latin1, noise, sampleOf } from '../../kit/catalog/bytes.ts';
import { partsOf } from '../../kit/catalog/solids.ts';
import { fbxText } from '../../kit/fixtures/models3d/fbx.ts';
import { asciiStl, embedded, glb, gltfOf } from '../../kit/fixtures/models3d/models.ts';

const found = (bytes: Uint8Array | string) => {
  const detected = detect(sampleOf(bytes));
  return detected.kind === 'format' ? detected.format : detected.kind === 'tie' ? `tie: ${detected.otherwise}` : detected.kind;
};

/** @param facets what the header says @param there how many follow */
const binaryStl = (title: string, facets: number, there = facets): Buffer => {
  const bytes = Buffer.alloc(84 + 50 * there);
  bytes.write(title);
  bytes.writeUInt32LE(facets, 80);
  return bytes;
};
const parts = partsOf('sniff');
const { json, bin } = gltfOf(parts, embedded);
const { asset, ...rest } = json;

describe('a model', () => {
  const cases: Record<string, [Uint8Array | string, string]> = {
    'an STL as text': [asciiStl(parts), 'stl'],
    'an STL as text in capitals, after a blank line': [`\r\n${asciiStl(parts).toUpperCase()}`, 'stl'],
    'an empty STL as text': ['solid nothing\nendsolid nothing\n', 'stl'],
    'a binary STL that begins with "solid"': [binaryStl('solid cube facet normal', 2), 'stl'],
    'a large binary STL': [binaryStl('made by a program', 9000), 'stl'],
    'an OBJ behind a long licence': [
      `${'# free for all\n'.repeat(300)}mtllib a.mtl\no a\nv 0 0 0\nv 1e-3 0 0\nv -1 .5 0\nf 1//1 2//1 3//1\n`,
      'obj',
    ],
    'an OBJ without any comment': ['v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n', 'obj'],
    'a big-endian PLY': [latin1('ply\nformat binary_big_endian 1.0\nelement vertex 1\nproperty float x\nend_header\n\0\0\0\0'), 'ply'],
    'a PLY with Windows line ends': ['ply\r\nformat ascii 1.0\r\nend_header\r\n', 'ply'],
    'a glTF whose asset stands last, behind a large buffer': [JSON.stringify({ ...rest, extras: 'x'.repeat(700_000), asset }), 'gltf'],
    'a glTF with blanks and a byte order mark': [`\ufeff${JSON.stringify(json, undefined, 4)}`, 'gltf'],
    'a GLB': [glb(gltfOf(parts).json, bin), 'glb'],
    'an FBX as text': [fbxText(parts), 'fbx'],
    'a COLLADA with a byte order mark and comments': ['\ufeff<?xml version="1.0"?>\n<!-- <X3D> -->\n<COLLADA version="1.5.0"/>', 'dae'],
    'an X3D with a document type': ['<!DOCTYPE X3D PUBLIC "a" "b">\n<X3D/>', 'x3d'],
    'a DXF behind a comment': ['999\nmade by hand\n  0\nSECTION\n  2\nHEADER\n  0\nENDSEC\n  0\nEOF\n', 'dxf'],
    'a binary DXF': [latin1('AutoCAD Binary DXF\r\n\x1a\0\0SECTION\0'), 'dxf'],
  };
  for (const [sentence, [bytes, id]] of Object.entries(cases)) it(`${sentence} is ${id}`, () => expect(found(bytes)).toBe(id));
});

describe('no model', () => {
  const cases: Record<string, [Uint8Array | string, string]> = {
    'prose that begins with "solid"': ['solid ground is what\nfacets of the matter need\n', 'tie: txt'],
    'a binary STL that is cut': [binaryStl('solid x', 100, 60), 'unknown'],
    'a binary STL with more facets than bytes': [binaryStl('x', 0xffff_ffff, 1), 'unknown'],
    'a list with v and f': ['v is for victory\nv is for value\nv is for volume\nf is for fun\n', 'tie: txt'],
    'JSON with an asset': ['{"asset": "house", "version": "2.0", "nodes": 3}', 'tie: json'],
    'XML of another kind': ['<?xml version="1.0"?><scene><X3D/></scene>', 'tie: xml'],
    'a word that begins like OFF': ['OFFICE hours\n', 'tie: txt'],
    'a form of another kind': [latin1('FORM\0\0\0\x04ANIM'), 'unknown'],
    'two letters M with noise behind them': [Buffer.concat([latin1('MM'), noise(400, 5)]), 'unknown'],
  };
  for (const [sentence, [bytes, what]] of Object.entries(cases)) it(`${sentence} is ${what}`, () => expect(found(bytes)).toBe(what));
});
