/**
 * Copies ONNX Runtime for this platform into what an image of a toolchain has beside the others, and adds it to the list of packages there.
 *
 *   node images/onnx-runtime.ts FOLDER
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyOnnxRuntime, ONNX_RUNTIME } from '../src/exec/confine/stage.ts';

const [into] = process.argv.slice(2);
if (into === undefined) throw new Error('it is called as: node images/onnx-runtime.ts FOLDER');
await copyOnnxRuntime('.', into);
for (const path of ONNX_RUNTIME) {
  const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Record<string, string>;
  appendFileSync(join(into, 'npm-packages.tsv'), `${name}@${version}\t${license}\n`);
}
