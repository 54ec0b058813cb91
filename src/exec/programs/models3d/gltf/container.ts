/** glTF 2 in its two containers: JSON with its buffers in data URIs, and GLB (specification, chapters 3 and 4). */

export interface Accessor {
  readonly bufferView?: number;
  readonly byteOffset?: number;
  readonly componentType: number;
  readonly count: number;
  readonly type: string;
}

export interface Gltf {
  readonly asset?: { readonly version?: unknown };
  readonly extensionsRequired?: readonly string[];
  nodes?: readonly { readonly children?: readonly number[] }[];
  readonly scenes?: readonly { nodes?: readonly number[] }[];
  readonly accessors?: readonly Accessor[];
  readonly bufferViews?: readonly {
    readonly buffer: number;
    readonly byteOffset?: number;
    readonly byteLength: number;
    readonly byteStride?: number;
  }[];
  readonly meshes?: readonly { readonly primitives?: readonly { readonly attributes?: Readonly<Record<string, number>> }[] }[];
  readonly materials?: readonly {
    readonly pbrMetallicRoughness?: { baseColorFactor?: readonly number[] };
    emissiveFactor?: readonly number[];
    readonly extensions?: {
      readonly KHR_materials_pbrSpecularGlossiness?: { diffuseFactor?: readonly number[]; specularFactor?: readonly number[] };
    };
  }[];
  buffers?: readonly { readonly uri?: string; readonly byteLength: number }[];
}

export interface GltfFile {
  readonly json: Gltf;
  /** The bytes of each buffer; undefined: they lie in another file. */
  readonly buffers: readonly (Buffer | undefined)[];
}

const MAGIC = 0x4654_6c67;
const JSON_CHUNK = 0x4e4f_534a;
const BIN_CHUNK = 0x004e_4942;
/** Deeper trees exhaust the stack of a reader that descends by calls. */
const DEEPEST = 1000;

/** @throws an Error if the container is damaged */
export function read(file: Buffer): GltfFile {
  const isBinary = file.length >= 20 && file.readUInt32LE(0) === MAGIC;
  const { text, bin } = isBinary ? chunksOf(file) : { text: file, bin: undefined };
  const json = JSON.parse(text.toString('utf8').replace(/^\ufeff/, '')) as Gltf;
  if (typeof json !== 'object' || json === null) throw new Error('the JSON is no object');
  const buffers = (json.buffers ?? []).map(({ uri }, at) => {
    if (uri === undefined) return at === 0 ? bin : undefined;
    const comma = uri.startsWith('data:') ? uri.indexOf(',') : -1;
    return comma < 0 ? undefined : Buffer.from(uri.slice(comma + 1), uri.slice(0, comma).endsWith(';base64') ? 'base64' : 'utf8');
  });
  return { json, buffers };
}

function chunksOf(file: Buffer): { text: Buffer; bin: Buffer | undefined } {
  let text: Buffer | undefined;
  let bin: Buffer | undefined;
  for (let at = 12; at + 8 <= file.length; ) {
    const [length, type] = [file.readUInt32LE(at), file.readUInt32LE(at + 4)];
    const chunk = file.subarray(at + 8, at + 8 + length);
    if (chunk.length < length) throw new Error('a chunk is longer than the file');
    if (type === JSON_CHUNK) text ??= chunk;
    if (type === BIN_CHUNK) bin ??= chunk;
    at += 8 + length;
  }
  if (text === undefined) throw new Error('there is no JSON');
  return { text, bin };
}

const SIZES: Readonly<Record<number, number>> = { 5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4 };
const COLUMNS: Readonly<Record<string, number>> = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT2: 4, MAT3: 9, MAT4: 16 };

/** Bytes of one element; NaN for what the specification does not have. */
export const elementBytes = ({ componentType, type }: Accessor): number =>
  (SIZES[componentType] ?? Number.NaN) * (COLUMNS[type] ?? Number.NaN);

/** What is wrong with the lengths and the tree of nodes, which converters trust; undefined: nothing. */
export function damageIn({ json, buffers }: GltfFile): string | undefined {
  return viewFault(json, buffers) ?? accessorFault(json) ?? treeFault(json);
}

const isLength = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

function viewFault({ bufferViews = [], buffers: rows = [] }: Gltf, buffers: GltfFile['buffers']): string | undefined {
  const cut = rows.some(({ byteLength }, at) => !(byteLength <= (buffers[at]?.length ?? Number.POSITIVE_INFINITY)));
  if (cut) return 'a buffer is shorter than it says';
  const beyond = bufferViews.some(
    ({ buffer, byteOffset = 0, byteLength }) =>
      !(isLength(byteOffset) && isLength(byteLength) && byteOffset + byteLength <= (rows[buffer]?.byteLength ?? -1)),
  );
  return beyond ? 'a view lies outside its buffer' : undefined;
}

function accessorFault({ accessors = [], bufferViews = [] }: Gltf): string | undefined {
  const isBeyond = (accessor: Accessor): boolean => {
    if (accessor.bufferView === undefined) return !(accessor.count >= 0 && accessor.count <= 1 << 28);
    const view = bufferViews[accessor.bufferView];
    const size = elementBytes(accessor);
    const stride = view?.byteStride ?? size;
    // Elements that overlap could be without number.
    if (!(stride >= size && isLength(accessor.count))) return true;
    const end = (accessor.byteOffset ?? 0) + stride * (accessor.count - 1) + size;
    return !(accessor.count >= 1 && (accessor.byteOffset ?? 0) >= 0 && end <= (view?.byteLength ?? -1));
  };
  return accessors.some(isBeyond) ? 'an accessor lies outside its view' : undefined;
}

/** Nodes form trees: each has at most one parent, and none is above itself (specification, 3.5.2). */
function treeFault({ nodes = [], scenes = [] }: Gltf): string | undefined {
  const depth = new Map<number, number>();
  const parents = new Set<number>();
  for (const { children = [] } of nodes)
    for (const child of children) {
      if (parents.has(child) || nodes[child] === undefined) return 'the nodes are no tree';
      parents.add(child);
    }
  const open = [...nodes.keys()].filter((node) => !parents.has(node));
  for (const root of open) depth.set(root, 1);
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const level = (depth.get(node) ?? 0) + 1;
    if (level > DEEPEST) return 'the nodes lie too deep';
    for (const child of nodes[node]?.children ?? []) {
      depth.set(child, level);
      open.push(child);
    }
  }
  if (depth.size < nodes.length) return 'the nodes form a ring';
  return scenes.some(({ nodes: roots = [] }) => roots.some((root) => nodes[root] === undefined))
    ? 'a scene shows a node that is not there'
    : undefined;
}

/** Gives the root of each scene that has a single one a parent, in the place where its children stand. The numbers of nodes stay. */
export function wrapRoots({ json }: GltfFile): void {
  const nodes = [...(json.nodes ?? [])];
  for (const scene of json.scenes ?? []) if (scene.nodes?.length === 1) scene.nodes = [nodes.push({ children: scene.nodes }) - 1];
  if (nodes.length > 0) json.nodes = nodes;
}

/** Characters that XML or a control sequence would be made of. */
const SPECIAL = /[<>&"'\0-\x1f\x7f]/g;

/** Replaces special characters in the names of nodes, meshes and materials, which are written into other formats. */
export function plainNames({ json }: GltfFile): void {
  for (const row of [...(json.nodes ?? []), ...(json.meshes ?? []), ...(json.materials ?? [])] as { name?: unknown }[])
    if (typeof row.name === 'string') row.name = row.name.replace(SPECIAL, '_');
}

/** A GLB holds its first buffer itself; all others are data URIs in both. */
export function write({ json, buffers }: GltfFile, container: 'gltf' | 'glb'): Buffer {
  const rows = (json.buffers ?? []).map((row, at) => {
    const bytes = buffers[at];
    const { uri: _, ...rest } = row;
    if (bytes === undefined) throw new Error('a buffer lies in another file');
    if (container === 'glb' && at === 0) return rest;
    return { ...rest, uri: `data:application/octet-stream;base64,${bytes.subarray(0, row.byteLength).toString('base64')}` };
  });
  const text = Buffer.from(JSON.stringify(rows.length === 0 ? json : { ...json, buffers: rows }));
  if (container === 'gltf') return text;
  const first = buffers[0];
  const chunks = [
    chunk(JSON_CHUNK, text, 0x20),
    ...(first === undefined ? [] : [chunk(BIN_CHUNK, first.subarray(0, json.buffers?.[0]?.byteLength), 0)]),
  ];
  const head = Buffer.alloc(12);
  head.writeUInt32LE(MAGIC, 0);
  head.writeUInt32LE(2, 4);
  head.writeUInt32LE(12 + chunks.reduce((sum, { length }) => sum + length, 0), 8);
  return Buffer.concat([head, ...chunks]);
}

/** Padded to four bytes. */
function chunk(type: number, content: Buffer, padding: number): Buffer {
  const length = Math.ceil(content.length / 4) * 4;
  const bytes = Buffer.alloc(8 + length, padding);
  bytes.writeUInt32LE(length, 0);
  bytes.writeUInt32LE(type, 4);
  content.copy(bytes, 8);
  return bytes;
}
