/** glTF between its two containers, by a program of our own that changes nothing else. */
import type { Engine } from '../../engine.ts';
import { GLTF } from '../../known-good.ts';
import { GLTF_PROGRAM, inspectGltf } from '../../planning/gltf.ts';

export const engine: Engine = {
  id: 'gltf',
  name: 'filemill glTF',
  role: '3d',
  toolchains: ['assets'],
  binaries: { gltf: GLTF_PROGRAM },
  conversions: [
    { source: 'gltf', target: 'glb', rank: 95 },
    { source: 'glb', target: 'gltf', rank: 95 },
  ],
  trials: [{ file: GLTF, target: 'glb' }],
  options: () => [],
  inspect: inspectGltf,
  plan: ({ input, output, target }) => ({ steps: [{ run: 'gltf', args: ['rewrite', input, `${output}/out.${target}`, 'keep'] }] }),
  limits: { memoryBytes: 1536 * 1024 ** 2 },
};
