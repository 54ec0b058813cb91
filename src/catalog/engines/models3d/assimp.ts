/** Assimp: 3D models. Its importer is named by the input's ending, its exporter by its id. */
import { inputLimit, type Reason } from '../../../errors.ts';
import type { Conversion, Engine, EngineWarning, Facts, Plan, Task } from '../../engine.ts';
import { OBJ } from '../../known-good.ts';
import { GLTF_PROGRAM, inspectGltf } from '../../planning/gltf.ts';
import { type Meanings, meaningOf } from '../../planning/phrases.ts';
import { ownStep, reasonTold } from '../../planning/told.ts';

/** What a format can hold besides triangles, as clients read it in a warning. */
const MATERIALS = 'materials';
const COLOURS = 'colours of vertices';
const COORDINATES = 'texture coordinates';
const NODES = 'the tree of nodes';
const ANIMATION = 'animation';
/** Named for what the texture does: a reference to a picture in another file stays a reference. */
const PICTURES = 'embedded textures';
type Feature = typeof MATERIALS | typeof COLOURS | typeof COORDINATES | typeof NODES | typeof ANIMATION | typeof PICTURES;

/** What Assimp reads of each source. */
const SOURCES: Readonly<Record<string, readonly Feature[]>> = {
  stl: [],
  obj: [COLOURS, COORDINATES, NODES],
  ply: [COLOURS, COORDINATES],
  gltf: [MATERIALS, COLOURS, COORDINATES, NODES, ANIMATION, PICTURES],
  glb: [MATERIALS, COLOURS, COORDINATES, NODES, ANIMATION, PICTURES],
  fbx: [MATERIALS, COLOURS, COORDINATES, NODES, ANIMATION, PICTURES],
  dae: [MATERIALS, COLOURS, COORDINATES, NODES, ANIMATION],
  '3ds': [MATERIALS, COORDINATES, NODES],
  '3mf': [MATERIALS, NODES],
  x3d: [MATERIALS, COORDINATES, NODES],
  amf: [COLOURS],
  off: [],
  dxf: [],
  ac: [MATERIALS, COORDINATES, NODES],
  lwo: [MATERIALS, COORDINATES],
  ms3d: [MATERIALS, COORDINATES, ANIMATION],
  x: [MATERIALS, COORDINATES, NODES, ANIMATION],
  b3d: [MATERIALS, COLOURS, COORDINATES, NODES, ANIMATION],
  md2: [COORDINATES, ANIMATION],
  md3: [COORDINATES, ANIMATION],
};

interface Target {
  /** As `assimp listexport` names it. */
  readonly exporter: string;
  readonly holds: readonly Feature[];
}

/** What Assimp writes of it. */
const TARGETS: Readonly<Record<string, Target>> = {
  stl: { exporter: 'stlb', holds: [] },
  // One file: materials would be another one beside it.
  obj: { exporter: 'objnomtl', holds: [COLOURS, COORDINATES] },
  // As text: its binary writer says bytes of colours that it writes as floats.
  ply: { exporter: 'ply', holds: [COLOURS, COORDINATES] },
  gltf: { exporter: 'glb2', holds: [MATERIALS, COLOURS, COORDINATES, NODES, ANIMATION, PICTURES] },
  glb: { exporter: 'glb2', holds: [MATERIALS, COLOURS, COORDINATES, NODES, ANIMATION, PICTURES] },
  fbx: { exporter: 'fbx', holds: [MATERIALS, COLOURS, COORDINATES, NODES, ANIMATION, PICTURES] },
  dae: { exporter: 'collada', holds: [MATERIALS, COLOURS, COORDINATES, NODES, ANIMATION] },
  '3mf': { exporter: '3mf', holds: [] },
  x3d: { exporter: 'x3d', holds: [MATERIALS, COLOURS, COORDINATES, NODES] },
};

/** Formats of text whose faces may have any number of corners. */
const POLYGONAL = ['obj', 'off', 'ply', 'ac', 'x3d'];

const isGltf = (format: string): boolean => format === 'gltf' || format === 'glb';

const conversions: readonly Conversion[] = Object.entries(SOURCES).flatMap(([source, held]) =>
  Object.entries(TARGETS)
    .filter(([target]) => target !== source && !(isGltf(source) && isGltf(target)))
    .map(([target, { holds }]) => {
      const loses = held.filter((one) => !holds.includes(one));
      return { source, target, rank: 80 - 5 * loses.length, ...(loses.length > 0 ? { loses } : {}) };
    }),
);

const MEANINGS: Meanings<Reason> = [
  [['bad_alloc', 'out of memory', 'not enough memory'], 'memory'],
  [
    [
      'not supported at the moment',
      'unsupported file format version',
      'unsupported, old format version',
      'is not supported by this',
      'no suitable reader',
    ],
    'unsupported_variant',
  ],
];

export const engine: Engine = {
  id: 'assimp',
  name: 'Assimp',
  role: '3d',
  toolchains: ['assets'],
  binaries: {
    assimp: { at: ['/usr/bin/assimp'], version: { args: ['version'], pattern: /Version (\d+\.\d+)/ } },
    gltf: GLTF_PROGRAM,
    units: { at: ['program:models3d/units.ts'] },
    polygons: { at: ['program:models3d/polygons.ts'] },
    copy: { at: ['/usr/bin/cp', '/bin/cp'] },
  },
  conversions,
  trials: [
    { file: OBJ, target: 'gltf' },
    { file: OBJ, target: 'dae' },
  ],
  options: () => [],
  inspect: {
    sources: new Set([...(inspectGltf.sources ?? []), ...POLYGONAL]),
    step: (input, task) => (isGltf(task.source) ? inspectGltf.step(input, task) : { run: 'polygons', args: [input, task.source] }),
    read: (stdout, task) => (isGltf(task.source) ? inspectGltf.read(stdout, task) : bounded(stdout)),
  },
  plan: (task) => ({
    ...(task.source === '3mf' ? inMillimetres(task) : plan(task)),
    ...(task.facts['library'] === true && TARGETS[task.target]?.holds.includes(MATERIALS) === true && { warnings: [WITHOUT_MATERIALS] }),
  }),
  explain: (output, code) => reasonTold(output, code, ['input_limit']) ?? meaningOf(output, MEANINGS),
  limits: { memoryBytes: 1536 * 1024 ** 2 },
};

/** Assimp cuts a face into triangles in time by the square of its corners: 300,000 took two minutes. */
const MOST_CORNERS = 5_000;

/** @throws Failure `input_limit` */
function bounded(stdout: string): Facts {
  const { corners, library = false } = JSON.parse(stdout) as { readonly corners: number; readonly library?: boolean };
  if (corners > MOST_CORNERS) throw inputLimit('corners of one face', MOST_CORNERS, corners);
  return { library };
}

const WITHOUT_MATERIALS: EngineWarning = {
  code: 'materials_missing',
  message:
    'The materials and textures of the model are in other files, which were not sent: the result has none of them. A GLB has all in one file.',
};

/** Assimp does not read the unit of a 3MF. */
function inMillimetres(task: Task): Plan {
  const ready = `${task.scratch}/millimetres.3mf`;
  const { steps, ...more } = plan({ ...task, input: ready });
  return { ...more, steps: [ownStep('units', [task.input, ready]), ...steps] };
}

/** Their writers leave out how the root of the tree is turned, as it is where a format's z is up. */
const IGNORES_ROOT: ReadonlySet<string> = new Set(['fbx', 'dae', 'x3d']);

/** They have no nodes: what a node mirrors has its triangles turned round. */
const FLAT: ReadonlySet<string> = new Set(['stl', 'obj', 'ply', '3mf']);

/** By way of GLB where the root has to become a node like others, and where colours change between linear light and sRGB. */
function plan({ source, target, input, output, scratch }: Task): Plan {
  const { exporter = '' } = TARGETS[target] ?? {};
  const convert = (from: string, to: string, as: string) => ({ run: 'assimp', args: ['export', from, to, `-f${as}`] });
  const rewrite = (from: string, to: string, how: 'srgb' | 'linear' | 'wrap' | 'flat') => ownStep('gltf', ['rewrite', from, to, how]);
  const [read, written] = [`${scratch}/read.glb`, `${scratch}/written.glb`];
  const out = `${output}/out.${target}`;
  if (isGltf(target)) return { steps: [convert(input, written, exporter), rewrite(written, out, 'linear')] };
  const first = isGltf(source)
    ? [rewrite(input, read, FLAT.has(target) ? 'flat' : 'srgb')]
    : IGNORES_ROOT.has(target)
      ? [convert(input, written, 'glb2'), rewrite(written, read, 'wrap')]
      : [];
  const from = first.length > 0 ? read : input;
  // Its COLLADA writer saves embedded textures beside the model; they must not become additional results.
  const beside = `${scratch}/beside.dae`;
  if (target === 'dae') return { steps: [...first, convert(from, beside, exporter), { run: 'copy', args: [beside, out] }] };
  // Its writer of 3MF leaves out where the nodes stand, and makes most colours black: STL has neither.
  const flat = `${scratch}/flat.stl`;
  return {
    steps: [...first, ...(target === '3mf' ? [convert(from, flat, 'stlb'), convert(flat, out, exporter)] : [convert(from, out, exporter)])],
  };
}
