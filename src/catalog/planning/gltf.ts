/** The first step of what reads glTF: it must be in one file, and its lengths and its tree of nodes must be right. */
import { conversionFailed, inputLimit } from '../../errors.ts';
import type { Binary, Facts, Inspection } from '../engine.ts';

export const GLTF_PROGRAM: Binary = { at: ['program:models3d/gltf.ts'] };

/** A converter holds a few kilobytes for each. */
const MOST_NODES = 100_000;
/** Compressed geometry, for which no free decoder is installed. */
const CANNOT_READ: ReadonlySet<string> = new Set(['KHR_draco_mesh_compression', 'EXT_meshopt_compression', 'KHR_meshopt_compression']);

interface Found {
  readonly damaged?: string;
  readonly version?: string;
  readonly outside?: number;
  readonly requires?: readonly string[];
  readonly nodes?: number;
}

/** Needs the binary `gltf`. */
export const inspectGltf: Inspection = {
  sources: new Set(['gltf', 'glb']),
  step: (input) => ({ run: 'gltf', args: ['inspect', input] }),
  read: (stdout, { source, target }): Facts => {
    const { damaged, version = '', outside = 0, requires = [], nodes = 0 } = JSON.parse(stdout) as Found;
    if (version !== '' && !version.startsWith('2.'))
      throw variant(`The file is glTF ${/^\d\.\d$/.test(version) ? version : 'of another version'}; the service reads glTF 2.`);
    if (outside > 0) throw variant('The model has its geometry in other files: send it as GLB, or as glTF with embedded buffers.');
    if (damaged !== undefined) throw conversionFailed('corrupt_input', { cause: new Error(damaged) });
    if (nodes > MOST_NODES) throw inputLimit('nodes', MOST_NODES, nodes);
    const compressed = requires.find((name) => CANNOT_READ.has(name));
    // Another container keeps them as they are.
    if (compressed !== undefined && !(sourceIsGltf(target) && sourceIsGltf(source)))
      throw variant(`The model's geometry is compressed (${compressed}), which the service cannot read: send it uncompressed.`);
    return {};
  },
};

const sourceIsGltf = (format: string): boolean => format === 'gltf' || format === 'glb';
const variant = (says: string) => conversionFailed('unsupported_variant', { says });
