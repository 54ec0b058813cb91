/** 3D models. */

import { latin1 } from '../looks/bytes.ts';
import {
  isAc3d,
  isAsciiStl,
  isBinaryStl,
  isDrawing,
  isGltf,
  isLightWave,
  isObjectFile,
  isPolygonFile,
  isThreeDs,
  isXmlModel,
} from '../looks/model.ts';
import { type Format, format, type Traits } from './format.ts';

const model = (id: string, mime: string, traits?: Traits) => format('3d', id, mime, traits);

export const models: readonly Format[] = [
  model('stl', 'model/stl', { looks: (sample) => isBinaryStl(sample) || isAsciiStl(sample) }),
  model('obj', 'model/obj', { looks: isObjectFile }),
  model('ply', 'application/vnd.ply', { looks: isPolygonFile }),
  model('gltf', 'model/gltf+json', { looks: isGltf, kin: 'gltf' }),
  model('glb', 'model/gltf-binary', { signatures: ['glTF\x02\0\0\0', 'glTF\x01\0\0\0'], kin: 'gltf' }),
  model('fbx', 'application/vnd.autodesk.fbx', {
    signatures: ['Kaydara FBX Binary  \0'],
    looks: ({ head }) => /^; FBX \d{1,2}\.\d{1,2}\.\d/.test(latin1(head, 0, 20)),
  }),
  model('dae', 'model/vnd.collada+xml', { aliases: ['collada'], looks: isXmlModel('COLLADA') }),
  model('3ds', 'image/x-3ds', { looks: isThreeDs }),
  model('3mf', 'model/3mf', { zip: /^3D\/[^/]+\.model$/i }),
  model('x3d', 'model/x3d+xml', { looks: isXmlModel('X3D') }),
  model('amf', 'application/x-amf', { looks: isXmlModel('amf') }),
  model('off', 'model/vnd.off', {
    looks: ({ head }) => /^[CN]?OFF\s{1,9}(?:#[^\n]{0,200}\n\s{0,9}){0,9}\d{1,20}\s{1,9}\d{1,20}\s{1,9}\d/.test(latin1(head, 0, 2048)),
  }),
  model('dxf', 'image/vnd.dxf', { looks: isDrawing }),
  model('ac', 'application/x-ac3d', { aliases: ['ac3d'], looks: isAc3d }),
  model('lwo', 'image/x-lwo', { aliases: ['lwob'], looks: isLightWave }),
  model('ms3d', 'application/x-ms3d', { signatures: ['MS3D000000'] }),
  model('x', 'model/x-directx', { signatures: ['xof 0302', 'xof 0303'] }),
  model('b3d', 'application/x-b3d', {
    signatures: [
      [
        [0, 'BB3D'],
        [12, 'TEXS'],
      ],
      [
        [0, 'BB3D'],
        [12, 'BRUS'],
      ],
      [
        [0, 'BB3D'],
        [12, 'NODE'],
      ],
    ],
  }),
  model('md2', 'application/x-md2', { signatures: ['IDP2\x08\0\0\0'] }),
  model('md3', 'application/x-md3', { signatures: ['IDP3\x0f\0\0\0'] }),
];
