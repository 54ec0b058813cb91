/**
 * Reads and rewrites glTF 2 around a converter that takes its colours for sRGB and its buffers for files.
 *
 *   gltf.ts inspect INPUT
 *   gltf.ts rewrite INPUT OUTPUT.(gltf|glb) (keep|srgb|linear|wrap|flat)
 *
 * `inspect` prints a line of JSON: `{"damaged"}` says what is wrong, `{"version"}` is that of glTF, `{"outside"}` how many of its buffers lie in
 * other files, `{"requires"}` extensions without which it cannot be read, `{"nodes"}` how many it has.
 * `rewrite` puts the buffers into OUTPUT, for `srgb` and `linear` also the factors and vertex colours into that colour space. For `srgb` and `wrap`
 * a root that stands alone gets a parent: Assimp takes such a root for the scene's, and most of its writers leave that one's place out. Names lose what is
 * special in XML, which its writer of X3D does not escape. `flat` is `srgb` for a target without nodes: what these mirror is turned round before.
 * It keeps everything else, and prints an answer as residents give: nothing, or why the file is refused.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { answering, type Told } from '../process/answer.ts';
import { recolour } from './gltf/colours.ts';
import { damageIn, plainNames, read, wrapRoots, write } from './gltf/container.ts';
import { turnMirrored } from './gltf/mirrored.ts';

const [verb = '', input = '', output = '', how = 'keep'] = process.argv.slice(2);

if (verb === 'inspect') process.stdout.write(`${JSON.stringify(inspect())}\n`);
else await answering(rewrite);

function rewrite(): readonly Told[] {
  const found = read(readFileSync(input));
  const container = { ...found, buffers: [...found.buffers] };
  const isFlat = how === 'flat';
  if (how === 'srgb' || how === 'linear' || isFlat) recolour(container, how === 'linear' ? how : 'srgb');
  if (isFlat) turnMirrored(container);
  if (how === 'srgb' || how === 'wrap' || isFlat) {
    wrapRoots(container);
    plainNames(container);
  }
  writeFileSync(output, write(container, output.endsWith('.glb') ? 'glb' : 'gltf'));
  return [];
}

function inspect(): Readonly<Record<string, unknown>> {
  try {
    const container = read(readFileSync(input));
    const { json, buffers } = container;
    const { extensionsRequired: requires, nodes } = json as { readonly extensionsRequired?: unknown; readonly nodes?: unknown };
    return {
      damaged: damageIn(container),
      version: String(json.asset?.version ?? ''),
      outside: buffers.filter((bytes) => bytes === undefined).length,
      requires: Array.isArray(requires) ? requires.filter((name) => typeof name === 'string') : [],
      nodes: Array.isArray(nodes) ? nodes.length : 0,
    };
  } catch (error) {
    // A file may have anything where a list should be.
    return { damaged: error instanceof Error ? error.message : 'unreadable' };
  }
}
