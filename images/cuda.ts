/**
 * Brings what the image ai-cuda has beside the image ai: ONNX Runtime with its provider for CUDA, and NVIDIA's libraries, as members of locked packages
 * of PyPI of which nothing is run. They are kept in .cache/cuda.
 *
 *   node images/cuda.ts FOLDER
 */
import { createHash } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { registriesOf } from '../src/exec/models/download/registries.ts';
import { takenSchema } from '../src/exec/models/manifest.ts';
import { pullModel } from '../src/exec/models/pull.ts';

const MANIFEST = 'images/ai-cuda/packages.yaml';
const CACHE = join(process.cwd(), '.cache/cuda');
/** A gigabyte and a half is downloaded, ms. */
const LONGEST_MS = 60 * 60_000;
/** The folder of a file in the image's context, by its name. */
const PLACES: readonly (readonly [RegExp, string])[] = [
  [/^libonnxruntime/, 'onnxruntime'],
  [/\.txt$/, 'licences'],
  [/^lib/, 'lib'],
];

const [into] = process.argv.slice(2);
if (into === undefined) throw new Error('it is called as: node images/cuda.ts FOLDER');
if (process.arch !== 'x64') throw new Error(`${MANIFEST} has libraries for x86_64 alone`);
const text = readFileSync(MANIFEST, 'utf8');
const { packages, files } = takenSchema.parse(parse(text));
const runtime = packages.find(({ project }) => project === 'onnxruntime-gpu')?.file ?? '';
const { version } = JSON.parse(readFileSync('node_modules/onnxruntime-node/package.json', 'utf8')) as { version: string };
if (!runtime.startsWith(`onnxruntime_gpu-${version}-`))
  throw new Error(`${MANIFEST} has ${runtime}, and package-lock.json has onnxruntime-node ${version}: both have to be of one version`);

const id = createHash('sha256').update(text).digest('hex').slice(0, 16);
mkdirSync(CACHE, { recursive: true });
for (const name of readdirSync(CACHE)) if (name !== id && name !== '.downloads') rmSync(join(CACHE, name), { recursive: true });
if (!existsSync(join(CACHE, id))) {
  const bytes = packages.reduce((sum, each) => sum + each.bytes, 0);
  console.log(`  libraries for GPUs from PyPI: ${(bytes / 1e9).toFixed(1)} GB`);
  await pullModel({ id, packages, files }, CACHE, { registries: registriesOf(process.env) }, AbortSignal.timeout(LONGEST_MS));
}

rmSync(into, { recursive: true, force: true });
for (const { name } of files) {
  const place = PLACES.find(([pattern]) => pattern.test(name))?.[1];
  if (place === undefined) throw new Error(`${MANIFEST}: ${name} has no place in the image`);
  mkdirSync(join(into, place), { recursive: true });
  linkSync(join(CACHE, id, name), join(into, place, name));
}
const licence = (project: string): string => (project === 'onnxruntime-gpu' ? 'MIT' : 'see /usr/share/doc/filemill-cuda');
const lines = packages.map(({ project, file }) => `${project}@${file.split('-')[1]}\t${licence(project)}\n`);
writeFileSync(join(into, 'pypi-packages.tsv'), lines.join(''));
