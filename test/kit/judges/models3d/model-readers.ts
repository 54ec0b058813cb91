/** Reads 3D models as triangles in the coordinates of the whole: as much of each format as exporters of a few solids write. */
import { execFileSync } from 'node:child_process';
import { inflateSync } from 'node:zlib';
import type { Point } from '../../catalog/solids.ts';

export interface Face {
  readonly corners: readonly [Point, Point, Point];
  /** The colour of the vertices, where they have one, or of the material: shares of red, green and blue in sRGB. */
  readonly colour: readonly number[] | undefined;
}

/** Row by row; applied to a column. */
type Matrix = readonly number[];
const IDENTITY: Matrix = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];

const multiplied = (a: Matrix, b: Matrix): Matrix =>
  Array.from({ length: 16 }, (_, at) => [0, 1, 2, 3].reduce((sum, k) => sum + (a[(at & 12) + k] ?? 0) * (b[k * 4 + (at & 3)] ?? 0), 0));
const transposed = (m: Matrix): Matrix => Array.from({ length: 16 }, (_, at) => m[(at % 4) * 4 + (at >> 2)] ?? 0);
const moved = ([x, y, z]: readonly number[]): Matrix => [1, 0, 0, x ?? 0, 0, 1, 0, y ?? 0, 0, 0, 1, z ?? 0, 0, 0, 0, 1];
const scaled = ([x, y, z]: readonly number[]): Matrix => [x ?? 1, 0, 0, 0, 0, y ?? 1, 0, 0, 0, 0, z ?? 1, 0, 0, 0, 0, 1];
/** @param angle radians */
function turned([x = 0, y = 0, z = 1]: readonly number[], angle: number): Matrix {
  const [c, s, length] = [Math.cos(angle), Math.sin(angle), Math.hypot(x, y, z) || 1];
  const [a, b, d, t] = [x / length, y / length, z / length, 1 - c];
  const rows = [a * a * t + c, a * b * t - d * s, a * d * t + b * s, 0, a * b * t + d * s, b * b * t + c, b * d * t - a * s, 0];
  return [...rows, a * d * t - b * s, b * d * t + a * s, d * d * t + c, 0, 0, 0, 0, 1];
}
const applied = (m: Matrix, [x = 0, y = 0, z = 0]: readonly number[]): Point => {
  const row = (at: number) => (m[at] ?? 0) * x + (m[at + 1] ?? 0) * y + (m[at + 2] ?? 0) * z + (m[at + 3] ?? 0);
  return [row(0), row(4), row(8)];
};

const item = <T>(list: readonly T[], at: number): T => {
  const found = list[at];
  if (found === undefined) throw new Error(`there is no element ${at} of ${list.length}`);
  return found;
};
const numbers = (text: string): number[] =>
  text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(Number);
const inThrees = <T>(list: readonly T[]): T[][] =>
  Array.from({ length: Math.floor(list.length / 3) }, (_, at) => list.slice(at * 3, at * 3 + 3));

/** A polygon as a fan. */
function fan(points: readonly Point[], polygon: readonly number[], colourAt: (index: number) => readonly number[] | undefined): Face[] {
  const corner = (at: number) => item(points, item(polygon, at));
  return Array.from({ length: polygon.length - 2 }, (_, at) => ({
    corners: [corner(0), corner(at + 1), corner(at + 2)] as const,
    colour: colourAt(item(polygon, 0)),
  }));
}

function stl(bytes: Buffer): Face[] {
  if (bytes.length !== 84 + 50 * bytes.readUInt32LE(80)) throw new Error('not a binary STL');
  return Array.from({ length: bytes.readUInt32LE(80) }, (_, face) => {
    const corner = (at: number): Point =>
      [0, 4, 8].map((offset) => bytes.readFloatLE(84 + 50 * face + 12 + 12 * at + offset)) as unknown as Point;
    return { corners: [corner(0), corner(1), corner(2)] as const, colour: undefined };
  });
}

function obj(bytes: Buffer): Face[] {
  const lines = bytes
    .toString()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  const rows = lines.filter(([word]) => word === 'v').map(([, ...values]) => values.map(Number));
  const points = rows.map((row): Point => [row[0] ?? 0, row[1] ?? 0, row[2] ?? 0]);
  return lines
    .filter(([word]) => word === 'f')
    .flatMap(([, ...corners]) =>
      fan(
        points,
        corners.map((corner) => Number(corner.split('/')[0]) - 1),
        (at) => (item(rows, at).length >= 6 ? item(rows, at).slice(3, 6) : undefined),
      ),
    );
}

function ply(bytes: Buffer): Face[] {
  const [header = '', body = ''] = bytes.toString('latin1').split('end_header\n');
  if (!/^ply\nformat ascii 1\.0\n/.test(header)) throw new Error('not a PLY as text');
  const count = (name: string) => Number(new RegExp(`element ${name} (\\d+)`).exec(header)?.[1]);
  const names = [...header.slice(0, header.indexOf('element face')).matchAll(/property \w+ (\w+)/g)].map(([, name]) => name);
  const lines = body.trim().split('\n').map(numbers);
  const rows = lines.slice(0, count('vertex')).map((values) => Object.fromEntries(names.map((name, at) => [name, item(values, at)])));
  const points = rows.map((row): Point => [row['x'] ?? 0, row['y'] ?? 0, row['z'] ?? 0]);
  const faces = lines.slice(count('vertex'));
  if (faces.length !== count('face')) throw new Error('there are not as many faces as it says');
  return faces.flatMap(([_, ...polygon]) =>
    fan(points, polygon, (at) =>
      rows[at]?.['red'] === undefined ? undefined : ['red', 'green', 'blue'].map((name) => (rows[at]?.[name] ?? 0) / 255),
    ),
  );
}

const toSrgb = (value: number): number => (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055);

// biome-ignore lint/suspicious/noExplicitAny: what a converter wrote, looked at as it is
type Json = any;

function gltf(bytes: Buffer): Face[] {
  const json: Json = JSON.parse(bytes.toString());
  const uri: string = json.buffers[0].uri;
  return scene(json, Buffer.from(uri.slice(uri.indexOf(',') + 1), 'base64'));
}

function glb(bytes: Buffer): Face[] {
  if (bytes.toString('latin1', 0, 4) !== 'glTF' || bytes.readUInt32LE(8) !== bytes.length) throw new Error('not a GLB');
  const length = bytes.readUInt32LE(12);
  return scene(JSON.parse(bytes.toString('utf8', 20, 20 + length)), bytes.subarray(28 + length));
}

function scene(json: Json, bin: Buffer): Face[] {
  const values = (index: number): number[][] => {
    const { bufferView, byteOffset = 0, count, type, componentType } = json.accessors[index];
    const view = json.bufferViews[bufferView];
    const columns = ({ SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4 } as Record<string, number>)[type] ?? 0;
    const size = componentType === 5126 || componentType === 5125 ? 4 : componentType === 5121 ? 1 : 2;
    const from = (view.byteOffset ?? 0) + byteOffset;
    return Array.from({ length: count }, (_, row) =>
      Array.from({ length: columns }, (_, column) => {
        const at = from + row * (view.byteStride ?? columns * size) + column * size;
        if (componentType === 5126) return bin.readFloatLE(at);
        return size === 4 ? bin.readUInt32LE(at) : size === 1 ? bin.readUInt8(at) / 255 : bin.readUInt16LE(at);
      }),
    );
  };
  const faces = (node: Json, above: Matrix): Face[] => {
    const { translation = [], rotation = [0, 0, 0, 1], scale = [] } = node;
    const [x, y, z, w] = rotation;
    const here = multiplied(
      above,
      node.matrix === undefined
        ? multiplied(moved(translation), multiplied(turned([x, y, z], 2 * Math.atan2(Math.hypot(x, y, z), w)), scaled(scale)))
        : transposed(node.matrix),
    );
    const own = (json.meshes[node.mesh]?.primitives ?? []).flatMap(({ attributes, indices, material }: Json) => {
      const points = values(attributes.POSITION).map((point) => applied(here, point));
      const colours = attributes.COLOR_0 === undefined ? undefined : values(attributes.COLOR_0);
      const factor = json.materials?.[material]?.pbrMetallicRoughness?.baseColorFactor ?? [1, 1, 1];
      return inThrees(values(indices).flat()).flatMap((polygon) =>
        fan(points, polygon, (at) => (colours?.[at] ?? factor).slice(0, 3).map(toSrgb)),
      );
    });
    return [...own, ...(node.children ?? []).flatMap((child: number) => faces(json.nodes[child], here))];
  };
  return json.scenes[json.scene ?? 0].nodes.flatMap((root: number) => faces(json.nodes[root], IDENTITY));
}

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Element[];
  text: string;
}

/** XML without entities, which no number needs. */
function xml(text: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  for (const [, comment, end, name = '', attributes = '', empty, content] of text.matchAll(
    /<(?:(!|\?)[^>]*|(\/)?([\w:.-]+)([^>]*?)(\/)?)>([^<]*)/g,
  )) {
    if (comment !== undefined) continue;
    if (end !== undefined) open.pop();
    else {
      const found = Object.fromEntries(
        [...attributes.matchAll(/([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(([, key, one, other]) => [key, one ?? other ?? '']),
      );
      const element: Element = { name, attributes: found, children: [], text: content ?? '' };
      item(open, open.length - 1).children.push(element);
      if (empty === undefined) open.push(element);
    }
  }
  return root;
}
const all = (element: Element, name: string): Element[] =>
  element.children.flatMap((child) => [...(child.name === name ? [child] : []), ...all(child, name)]);
const first = (element: Element, name: string): Element => item(all(element, name), 0);

function dae(bytes: Buffer): Face[] {
  const root = xml(bytes.toString());
  const byId = new Map<string, Element>();
  const index = (element: Element): void => {
    if (element.attributes['id'] !== undefined) byId.set(element.attributes['id'], element);
    element.children.forEach(index);
  };
  index(root);
  const at = (reference = ''): Element => byId.get(reference.replace(/^#/, '')) ?? item([], 0);
  const rows = (source: Element): number[][] => {
    const stride = Number(first(source, 'accessor').attributes['stride']);
    const values = numbers(first(source, 'float_array').text);
    return Array.from({ length: values.length / stride }, (_, row) => values.slice(row * stride, row * stride + stride));
  };
  const faces = (node: Element, above: Matrix): Face[] => {
    let here = above;
    for (const { name, text } of node.children) {
      const values = numbers(text);
      if (name === 'matrix') here = multiplied(here, values);
      if (name === 'translate') here = multiplied(here, moved(values));
      if (name === 'rotate') here = multiplied(here, turned(values, (item(values, 3) * Math.PI) / 180));
    }
    return node.children.flatMap((child) => {
      if (child.name === 'node') return faces(child, here);
      if (child.name !== 'instance_geometry') return [];
      const material = at(first(child, 'instance_material').attributes['target']);
      const effect = at(first(material, 'instance_effect').attributes['url']);
      const diffuse = all(first(effect, 'diffuse'), 'color').map(({ text }) => numbers(text).slice(0, 3))[0];
      const mesh = at(child.attributes['url']);
      return all(mesh, 'polylist').flatMap((list) => {
        const inputs = all(list, 'input');
        const input = (semantic: string) => inputs.find(({ attributes }) => attributes['semantic'] === semantic);
        const colour = input('COLOR');
        const colours = colour === undefined ? undefined : rows(at(colour.attributes['source']));
        const points = rows(at(first(at(input('VERTEX')?.attributes['source']), 'input').attributes['source'])).map((point) =>
          applied(here, point),
        );
        const step = 1 + Math.max(...inputs.map(({ attributes }) => Number(attributes['offset'])));
        const indices = numbers(first(list, 'p').text).filter((_, place) => place % step === 0);
        let from = 0;
        return numbers(first(list, 'vcount').text).flatMap((count) => {
          from += count;
          return fan(points, indices.slice(from - count, from), (vertex) => colours?.[vertex]?.slice(0, 3) ?? diffuse);
        });
      });
    });
  };
  return all(root, 'visual_scene').flatMap((visual) =>
    visual.children.filter(({ name }) => name === 'node').flatMap((node) => faces(node, IDENTITY)),
  );
}

function x3d(bytes: Buffer): Face[] {
  const faces = (element: Element, above: Matrix): Face[] => {
    const { name, attributes, children } = element;
    let here = above;
    if (name === 'Transform') {
      const rotation = numbers(attributes['rotation'] ?? '0 0 1 0');
      here = multiplied(
        here,
        multiplied(
          moved(numbers(attributes['translation'] ?? '')),
          multiplied(turned(rotation, item(rotation, 3)), scaled(numbers(attributes['scale'] ?? ''))),
        ),
      );
    }
    if (name === 'MatrixTransform') here = multiplied(here, transposed(numbers(attributes['matrix'] ?? '')));
    if (name !== 'Shape') return children.flatMap((child) => faces(child, here));
    const points = inThrees(numbers(first(element, 'Coordinate').attributes['point'] ?? '')).map((point) => applied(here, point));
    const colour = [
      ...all(element, 'Color').map((one) => ({ one, step: 3 })),
      ...all(element, 'ColorRGBA').map((one) => ({ one, step: 4 })),
    ][0];
    const values = numbers(colour?.one.attributes['color'] ?? '');
    const diffuse = all(element, 'Material')[0]?.attributes['diffuseColor'];
    const polygons = (first(element, 'IndexedFaceSet').attributes['coordIndex'] ?? '')
      .split('-1')
      .map(numbers)
      .filter(({ length }) => length > 2);
    return polygons.flatMap((polygon) =>
      fan(
        points,
        polygon,
        (at) => (colour === undefined ? diffuse && numbers(diffuse) : values.slice(at * colour.step, at * colour.step + 3)) || undefined,
      ),
    );
  };
  return faces(xml(bytes.toString()), IDENTITY);
}

function threeMf(_: Buffer, path: string): Face[] {
  const model = xml(execFileSync('unzip', ['-p', path, '3D/*.model']).toString());
  return all(model, 'item').flatMap(({ attributes: { objectid, transform } }) => {
    const t = numbers(transform ?? '1 0 0 0 1 0 0 0 1 0 0 0');
    const m = transposed([...t.slice(0, 3), 0, ...t.slice(3, 6), 0, ...t.slice(6, 9), 0, ...t.slice(9), 1]);
    const object = all(model, 'object').find(({ attributes }) => attributes['id'] === objectid) ?? item([], 0);
    const points = all(object, 'vertex').map(({ attributes: { x, y, z } }) => applied(m, [x, y, z].map(Number)));
    return all(object, 'triangle').flatMap(({ attributes: { v1, v2, v3 } }) => fan(points, [v1, v2, v3].map(Number), () => undefined));
  });
}

interface FbxRecord {
  readonly name: string;
  readonly values: readonly unknown[];
  readonly children: readonly FbxRecord[];
}

/** FBX 7.5, whose offsets have 8 bytes. */
function fbx(bytes: Buffer): Face[] {
  if (bytes.toString('latin1', 0, 18) !== 'Kaydara FBX Binary' || bytes.readUInt32LE(23) < 7500) throw new Error('not an FBX 7.5');
  const wide = (at: number) => Number(bytes.readBigUInt64LE(at));
  const record = (at: number): { readonly end: number; readonly found: FbxRecord | undefined } => {
    const end = wide(at);
    if (end === 0) return { end: at + 25, found: undefined };
    const nameLength = bytes.readUInt8(at + 24);
    let place = at + 25 + nameLength;
    const values = Array.from({ length: wide(at + 8) }, () => {
      const { value, next } = property(bytes, place);
      place = next;
      return value;
    });
    const children: FbxRecord[] = [];
    while (place < end) {
      const child = record(place);
      if (child.found !== undefined) children.push(child.found);
      place = child.end;
    }
    return { end, found: { name: bytes.toString('latin1', at + 25, at + 25 + nameLength), values, children } };
  };
  const top: FbxRecord[] = [];
  for (let at = 27; at < bytes.length; ) {
    const { end, found } = record(at);
    if (found === undefined) break;
    top.push(found);
    at = end;
  }
  const inside = (parent: FbxRecord | undefined, name: string): FbxRecord | undefined =>
    parent?.children.find((child) => child.name === name);
  const objects = top.find(({ name }) => name === 'Objects')?.children ?? [];
  const links = (top.find(({ name }) => name === 'Connections')?.children ?? []).map(
    ({ values }) => [String(values[1]), String(values[2])] as const,
  );
  const parentOf = (id: unknown) => links.filter(([from]) => from === String(id)).map(([, to]) => to);
  const property70 = (object: FbxRecord | undefined, name: string): number[] | undefined =>
    inside(object, 'Properties70')
      ?.children.find(({ values }) => values[0] === name)
      ?.values.slice(4)
      .map(Number);
  const model = (id: string | undefined) => objects.find(({ name, values }) => name === 'Model' && String(values[0]) === id);
  const matrixOf = (id: string | undefined): Matrix => {
    const found = model(id);
    if (found === undefined) return IDENTITY;
    const [rx = 0, ry = 0, rz = 0] = (property70(found, 'Lcl Rotation') ?? []).map((degrees) => (degrees * Math.PI) / 180);
    const turn = multiplied(turned([0, 0, 1], rz), multiplied(turned([0, 1, 0], ry), turned([1, 0, 0], rx)));
    const own = multiplied(
      moved(property70(found, 'Lcl Translation') ?? []),
      multiplied(turn, scaled(property70(found, 'Lcl Scaling') ?? [])),
    );
    return multiplied(matrixOf(parentOf(found.values[0])[0]), own);
  };
  return objects
    .filter(({ name, values }) => name === 'Geometry' && values[2] === 'Mesh')
    .flatMap((geometry) => {
      const owner = parentOf(geometry.values[0])[0];
      const here = matrixOf(owner);
      const points = inThrees(inside(geometry, 'Vertices')?.values[0] as number[]).map((point) => applied(here, point));
      const material = objects.find(({ name, values }) => name === 'Material' && parentOf(values[0]).includes(owner ?? ''));
      const layer = inside(geometry, 'LayerElementColor');
      const colours = inside(layer, 'Colors')?.values[0] as number[] | undefined;
      const indexOf = inside(layer, 'ColorIndex')?.values[0] as number[] | undefined;
      const faces: Face[] = [];
      let polygon: number[] = [];
      let start = 0;
      for (const [place, index] of ((inside(geometry, 'PolygonVertexIndex')?.values[0] ?? []) as number[]).entries()) {
        polygon.push(index < 0 ? ~index : index);
        if (index >= 0) continue;
        const entry = indexOf?.[start] ?? start;
        const colour = colours?.slice(entry * 4, entry * 4 + 3) ?? property70(material, 'DiffuseColor');
        faces.push(...fan(points, polygon, () => colour));
        [polygon, start] = [[], place + 1];
      }
      return faces;
    });
}

function property(bytes: Buffer, at: number): { readonly value: unknown; readonly next: number } {
  const type = bytes.toString('latin1', at, at + 1);
  const from = at + 1;
  if (type === 'S' || type === 'R') {
    const end = from + 4 + bytes.readUInt32LE(from);
    return { value: bytes.toString('latin1', from + 4, end), next: end };
  }
  const scalars: Readonly<Record<string, readonly [number, (source: Buffer, place: number) => unknown]>> = {
    Y: [2, (source, place) => source.readInt16LE(place)],
    C: [1, (source, place) => source.readUInt8(place)],
    I: [4, (source, place) => source.readInt32LE(place)],
    F: [4, (source, place) => source.readFloatLE(place)],
    D: [8, (source, place) => source.readDoubleLE(place)],
    L: [8, (source, place) => source.readBigInt64LE(place)],
  };
  const scalar = scalars[type];
  if (scalar !== undefined) return { value: scalar[1](bytes, from), next: from + scalar[0] };
  const element = scalars[type.toUpperCase()];
  if (element === undefined) throw new Error(`no property has the type ${type}`);
  const [count, encoding, length] = [bytes.readUInt32LE(from), bytes.readUInt32LE(from + 4), bytes.readUInt32LE(from + 8)];
  const stored = bytes.subarray(from + 12, from + 12 + length);
  const plain = encoding === 1 ? inflateSync(stored) : stored;
  return { value: Array.from({ length: count }, (_, index) => Number(element[1](plain, index * element[0]))), next: from + 12 + length };
}

/** By target. */
export const READERS: Readonly<Record<string, (bytes: Buffer, path: string) => readonly Face[]>> = {
  stl,
  obj,
  ply,
  gltf,
  glb,
  fbx,
  dae,
  '3mf': threeMf,
  x3d,
};
