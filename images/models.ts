/**
 * Copies ONNX Runtime for this platform and models into what the images of the toolchains that use them have beside the others, and adds it to the
 * lists of packages there. The small models are in each such image, others where they are named.
 *
 *   node images/models.ts FOLDER-OF-TOOLCHAINS [MODEL…]
 */
import { appendFileSync, cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { modelsUsedBy } from '../src/catalog/engine.ts';
import { engines } from '../src/catalog/engines.gen.ts';
import { copyOnnxRuntime, ONNX_RUNTIME } from '../src/exec/confine/stage.ts';
import { modelsIn } from '../src/exec/models/installed.ts';
import { listedModels as all } from '../src/exec/models/manifest.gen.ts';

const [into, ...named] = process.argv.slice(2);
if (into === undefined) throw new Error('it is called as: node images/models.ts FOLDER [MODEL…]');
const checkout = process.cwd();
const unknown = named.find((id) => !all.some((model) => model.id === id));
if (unknown !== undefined) throw new Error(`there is no model "${unknown}"; there are: ${all.map(({ id }) => id).join(', ')}`);

const used = new Map<string, Set<string>>();
for (const engine of engines)
  for (const toolchain of engine.toolchains)
    for (const model of modelsUsedBy(engine)) used.getOrInsertComputed(toolchain, () => new Set()).add(model);

for (const [toolchain, ids] of used) {
  const folder = join(into, toolchain);
  await copyOnnxRuntime(checkout, folder);
  for (const path of ONNX_RUNTIME) {
    const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Record<string, string>;
    appendFileSync(join(folder, 'npm-packages.tsv'), `${name}@${version}\t${license}\n`);
  }
  const models = join(folder, '.cache/models');
  mkdirSync(models, { recursive: true });
  for (const { id, small } of all)
    if (ids.has(id) && (small || named.includes(id))) cpSync(join(modelsIn(checkout), id), join(models, id), { recursive: true });
}
