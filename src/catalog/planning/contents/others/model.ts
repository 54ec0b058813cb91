/** What a 3D model has: triangles, textures, units, motion. For formats that say so in their headers or in plain text. */
import { latin1, u32le } from '../../../looks/bytes.ts';
import type { Pieces } from '../../pieces.ts';
import { bytesAt, Unmeasured, unicodeOf, wholeOf } from '../bytes.ts';
import { openPackage } from '../package.ts';
import { attributeIn, walkTags } from '../tags.ts';

export interface ModelFacts {
  /** Faces of more corners count as the triangles that they are drawn as. */
  readonly triangles?: number;
  readonly textures?: number;
  readonly animations?: number;
  /** `millimeter`, where the file states it; '' where its format does not fix it and the file is silent. */
  readonly unit?: string;
}

const READERS: Readonly<Record<string, (file: Pieces) => ModelFacts>> = { stl, obj, ply, off, gltf, glb, '3mf': threeMf, dae };

/** @throws Unmeasured */
export function modelFacts(format: string, file: Pieces): ModelFacts {
  const read = READERS[format];
  if (read === undefined) throw new Unmeasured('no reader');
  return read(file);
}

/** Binary ones state the count; in others each facet has a line. */
function stl(file: Pieces): ModelFacts {
  const nothingElse = { textures: 0, animations: 0, unit: '' };
  const stated = file.size < 84 ? -1 : u32le(bytesAt(file, 80, 4), 0);
  if (file.size === 84 + 50 * stated) return { triangles: stated, ...nothingElse };
  return { triangles: unicodeOf(wholeOf(file)).match(/^\s{0,20}facet\s/gim)?.length ?? 0, ...nothingElse };
}

function obj(file: Pieces): ModelFacts {
  let triangles = 0;
  for (const line of unicodeOf(wholeOf(file)).split('\n')) {
    const trimmed = line.trim();
    if (trimmed.startsWith('f ')) triangles += Math.max(0, trimmed.split(/\s+/).length - 3);
  }
  return { triangles, animations: 0, unit: '' };
}

function ply(file: Pieces): ModelFacts {
  const head = latin1(bytesAt(file, 0, Math.min(file.size, 8_192)), 0, 8_192);
  const faces = /^element\s+face\s+(\d{1,10})/m.exec(head)?.[1];
  // Its faces may have any number of corners: they are counted where they are plain text.
  if (faces === undefined) throw new Unmeasured('no faces');
  const nothingElse = { textures: 0, animations: 0, unit: '' };
  if (!/^format ascii/m.test(head)) return nothingElse;
  const lines = unicodeOf(wholeOf(file))
    .split('\n')
    .filter((line) => line.trim() !== '');
  const list = lines.slice(lines.length - Number(faces));
  return { triangles: list.reduce((sum, line) => sum + Math.max(0, Number(line.trim().split(/\s+/, 1)[0]) - 2 || 0), 0), ...nothingElse };
}

function off(file: Pieces): ModelFacts {
  const lines = unicodeOf(wholeOf(file))
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const counts = (lines[0] === 'OFF' ? lines[1] : lines[0]?.replace('OFF', ''))?.trim().split(/\s+/).map(Number) ?? [];
  const from = (lines[0] === 'OFF' ? 2 : 1) + (counts[0] ?? 0);
  const faces = lines.slice(from, from + (counts[1] ?? 0));
  const triangles = faces.reduce((sum, line) => sum + Math.max(0, Number(line.split(/\s+/, 1)[0]) - 2 || 0), 0);
  return { triangles, textures: 0, animations: 0, unit: '' };
}

/** glTF 2.0, 5. Its unit is the metre. */
interface Gltf {
  readonly accessors?: readonly { readonly count?: number }[];
  readonly meshes?: readonly { readonly primitives?: readonly Primitive[] }[];
  readonly nodes?: readonly { readonly mesh?: number }[];
  readonly textures?: readonly unknown[];
  readonly animations?: readonly unknown[];
}
interface Primitive {
  readonly mode?: number;
  readonly indices?: number;
  readonly attributes?: Readonly<Record<string, number>>;
}

function gltf(file: Pieces): ModelFacts {
  return factsOfGltf(unicodeOf(wholeOf(file)));
}

function glb(file: Pieces): ModelFacts {
  const head = bytesAt(file, 0, 20);
  if (latin1(head, 0, 4) !== 'glTF' || latin1(head, 16, 4) !== 'JSON') throw new Unmeasured('no glTF 2');
  return factsOfGltf(bytesAt(file, 20, u32le(head, 12)).toString());
}

function factsOfGltf(json: string): ModelFacts {
  const parsed: unknown = parsedOf(json);
  if (typeof parsed !== 'object' || parsed === null) throw new Unmeasured('no object');
  const { accessors = [], meshes = [], nodes = [], textures = [], animations = [] } = parsed as Gltf;
  const lists = [accessors, meshes, nodes, textures, animations];
  if (!lists.every(Array.isArray)) throw new Unmeasured('no lists');
  const inMesh = meshes.map((mesh) => {
    const primitives = Array.isArray(mesh?.primitives) ? mesh.primitives : [];
    return primitives.reduce((sum, { mode = TRIANGLES, indices, attributes }) => {
      const count = Number(accessors[indices ?? attributes?.['POSITION'] ?? -1]?.count ?? 0);
      return sum + (mode === TRIANGLES ? count / 3 : mode > TRIANGLES ? Math.max(0, count - 2) : 0);
    }, 0);
  });
  const triangles = nodes.reduce((sum, node) => sum + (node?.mesh === undefined ? 0 : (inMesh[node.mesh] ?? 0)), 0);
  return { triangles, textures: textures.length, animations: animations.length, unit: 'meter' };
}
const TRIANGLES = 4;

function parsedOf(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new Unmeasured('no JSON', { cause });
  }
}

/** 3MF Core 1.3, 3.4 and 4: a model in an archive. */
function threeMf(file: Pieces): ModelFacts {
  const parts = openPackage(file);
  const models = parts.names.filter((name) => /\.model$/i.test(name));
  let [triangles, unit] = [0, 'millimeter'];
  for (const name of models)
    walkTags(
      parts.text(name),
      (tag) => {
        if (tag.kind === 'close') return;
        if (tag.name === 'triangle') triangles++;
        if (tag.name === 'model') unit = attributeIn(tag, 'unit') ?? unit;
      },
      () => {},
    );
  return {
    triangles,
    textures: parts.names.filter((name) => /\.(?:png|jpe?g)$/i.test(name) && /textures?\//i.test(name)).length,
    animations: 0,
    unit,
  };
}

/** COLLADA 1.4.1, 5: faces of several forms. */
function dae(file: Pieces): ModelFacts {
  let [triangles, images, animations, unit, isCounts] = [0, 0, 0, '', false];
  walkTags(
    unicodeOf(wholeOf(file)),
    (tag) => {
      isCounts = tag.name === 'vcount' && tag.kind === 'open';
      if (tag.kind === 'close') return;
      if (tag.name === 'triangles') triangles += Number(attributeIn(tag, 'count') ?? 0) || 0;
      else if (tag.name === 'image') images++;
      else if (tag.name === 'animation') animations++;
      else if (tag.name === 'unit') unit = attributeIn(tag, 'name') ?? '';
    },
    (text) => {
      if (isCounts) for (const count of text.trim().split(/\s+/)) triangles += Math.max(0, Number(count) - 2 || 0);
    },
  );
  // It has one for each channel of a movement: whether there is any is what others count, too.
  return { triangles, textures: images, animations: Math.min(1, animations), unit };
}
