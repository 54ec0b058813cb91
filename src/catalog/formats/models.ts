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

const model = (id: string, name: string, mime: string, traits?: Traits) => format('3d', id, name, mime, traits);

export const models: readonly Format[] = [
  model('stl', '3D printing mesh', 'model/stl', {
    search: { en: '3d printer, model', de: '3D-Drucker, 3D-Druck, Modell', es: 'impresora 3D, modelo' },
    looks: (sample) => isBinaryStl(sample) || isAsciiStl(sample),
  }),
  model('obj', 'Wavefront object', 'model/obj', {
    search: { en: '3d model, blender', de: '3D-Modell, Blender', es: 'modelo 3D, Blender' },
    looks: isObjectFile,
  }),
  model('ply', 'Polygon file', 'application/vnd.ply', { looks: isPolygonFile }),
  model('gltf', 'glTF scene', 'model/gltf+json', { looks: isGltf, kin: 'gltf' }),
  model('glb', 'glTF scene, binary', 'model/gltf-binary', {
    search: { en: '3d model, blender, ar', de: '3D-Modell, Blender', es: 'modelo 3D, Blender' },
    signatures: ['glTF\x02\0\0\0', 'glTF\x01\0\0\0'],
    kin: 'gltf',
  }),
  model('fbx', 'Autodesk FBX', 'application/vnd.autodesk.fbx', {
    signatures: ['Kaydara FBX Binary  \0'],
    looks: ({ head }) => /^; FBX \d{1,2}\.\d{1,2}\.\d/.test(latin1(head, 0, 20)),
  }),
  model('dae', 'COLLADA', 'model/vnd.collada+xml', { aliases: ['collada'], looks: isXmlModel('COLLADA') }),
  model('3ds', '3D Studio', 'image/x-3ds', { looks: isThreeDs }),
  model('3mf', '3D Manufacturing Format', 'model/3mf', {
    search: { en: '3d printer, model', de: '3D-Drucker, 3D-Druck, Modell', es: 'impresora 3D, modelo' },
    zip: /^3D\/[^/]+\.model$/i,
  }),
  model('x3d', 'X3D scene', 'model/x3d+xml', { looks: isXmlModel('X3D') }),
  model('amf', 'Additive Manufacturing File', 'application/x-amf', { looks: isXmlModel('amf') }),
  model('off', 'Geomview object', 'model/vnd.off', {
    looks: ({ head }) => /^[CN]?OFF\s{1,9}(?:#[^\n]{0,200}\n\s{0,9}){0,9}\d{1,20}\s{1,9}\d{1,20}\s{1,9}\d/.test(latin1(head, 0, 2048)),
  }),
  model('dxf', 'AutoCAD drawing exchange', 'image/vnd.dxf', {
    search: { en: 'cad, drawing', de: 'CAD, Zeichnung', es: 'CAD, dibujo' },
    looks: isDrawing,
  }),
  model('ac', 'AC3D', 'application/x-ac3d', { aliases: ['ac3d'], looks: isAc3d }),
  model('lwo', 'LightWave object', 'image/x-lwo', { aliases: ['lwob'], looks: isLightWave }),
  model('ms3d', 'MilkShape 3D', 'application/x-ms3d', { signatures: ['MS3D000000'] }),
  model('x', 'DirectX model', 'model/x-directx', { signatures: ['xof 0302', 'xof 0303'] }),
  model('b3d', 'Blitz3D', 'application/x-b3d', {
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
  model('md2', 'Quake II model', 'application/x-md2', { signatures: ['IDP2\x08\0\0\0'] }),
  model('md3', 'Quake III model', 'application/x-md3', { signatures: ['IDP3\x0f\0\0\0'] }),
];
