/**
 * Bundles filemill for its images: the folder that becomes /app, with one JavaScript file for a worker and for each thread, and a hundred for the other
 * roles and the commands, instead of 1,500 modules.
 *
 *   node images/bundle.ts FOLDER
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { compile, LIBVIPS, PACKAGES } from '../src/exec/confine/stage.ts';

const [into] = process.argv.slice(2);
if (into === undefined) throw new Error('it is called as: node images/bundle.ts FOLDER');
const app = resolve(into);
const source = resolve('src');
/** Each thread has a separate file, which the process names by URL. */
const THREADS = ['nats/keep-alive/thread', 'judge/thread'];
/** What programs that run confined load: these are not bundled. */
const LIBRARIES = [dirname(LIBVIPS)];
const EXPLORER = 'node_modules/openapi-explorer';

/** A bundled module has the URL of the bundle: a file beside the module is named from the root of the sources instead. */
const urls: Plugin = {
  name: 'urls',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const folder = relative(source, dirname(path));
      const contents = readFileSync(path, 'utf8').replaceAll(
        /new URL\('\.\/([\w/-]+)\.ts', import\.meta\.url\)/g,
        (_, name: string) => `new URL('./${join(folder, name)}.js', import.meta.url)`,
      );
      return { contents, loader: 'ts' };
    });
  },
};

/**
 * Node's modules by `require`: an `import` reads every export of `node:http` at once, and one of them loads the whole of undici, some 50 ms of a
 * start (nodejs/node lib/internal/bootstrap/realm.js, syncExports). Only what is used is read, by name, for the same reason.
 */
const BUILTIN = new RegExp(`^(node:)?(${builtinModules.join('|')})$`);
const requireHere = createRequire(import.meta.url);
const builtins: Plugin = {
  name: 'builtins',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: BUILTIN }, ({ path, kind }) => (kind === 'import-statement' ? { path, namespace: 'builtin' } : undefined));
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => {
      const names = Object.getOwnPropertyNames(requireHere(path)).filter((name) => /^[A-Za-z_]\w*$/.test(name) && name !== 'default');
      const read = names.map((name) => `const get_${name} = /* @__PURE__ */ read('${name}'); export { get_${name} as ${name} };`);
      return {
        contents: `const all = require(${JSON.stringify(path)}); const read = (name) => all[name]; export default all; ${read.join('\n')}`,
      };
    });
  },
};

/** What a worker never runs. `images/filemill` starts it for that role alone. */
const otherRoles: Plugin = {
  name: 'other-roles',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/(roles|cli)\/(?:(?:data|doctor|support)\/)?[\w-]+\.ts$/ }, ({ importer, kind, path }) =>
      importer === join(source, 'main.ts') && kind === 'dynamic-import' && path !== './roles/worker.ts'
        ? { path: './main.js', external: true }
        : undefined,
    );
  },
};

rmSync(app, { recursive: true, force: true });
mkdirSync(app, { recursive: true });
const common: BuildOptions & { readonly metafile: true } = {
  outbase: source,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node26',
  minifySyntax: true,
  minifyWhitespace: true,
  external: ['openapi-explorer'],
  // Libraries in CommonJS ask for Node's modules by `require`.
  banner: { js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);" },
  metafile: true,
  plugins: [urls, builtins],
  logLevel: 'warning',
};
const whole = await build({
  ...common,
  entryPoints: [join(source, 'main.ts')],
  outdir: join(app, 'src'),
  splitting: true,
  // Beside main.js: the URLs above are relative to it.
  chunkNames: '[name]-[hash]',
});
// The first file of a pool waits for a worker's start, a fifth of which would be the linking of a hundred files.
const threads = await build({ ...common, entryPoints: THREADS.map((name) => join(source, `${name}.ts`)), outdir: join(app, 'src') });
const worker = await build({
  ...common,
  entryPoints: [join(source, 'main.ts')],
  outfile: join(app, 'src/worker.js'),
  plugins: [otherRoles, ...(common.plugins ?? [])],
});
const metafiles = [whole, threads, worker].map(({ metafile }) => metafile);
for (const name of THREADS) if (!existsSync(join(app, 'src', `${name}.js`))) throw new Error(`the bundle has no ${name}.js`);

await compile('.', app);
for (const path of ['.cache/web', 'models/licences']) cpSync(path, join(app, path), { recursive: true });
for (const path of LIBRARIES) cpSync(path, join(app, path), { recursive: true });
for (const path of [`${EXPLORER}/package.json`, `${EXPLORER}/dist/browser/openapi-explorer.min.js`]) cpSync(path, join(app, path));
const { name, version, license } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, string>;
writeFileSync(join(app, 'package.json'), `${JSON.stringify({ name, version, license, type: 'module' })}\n`);

// What the images say they contain: each package whose code is in the bundle, or copied.
const inputs = [...metafiles.flatMap(({ inputs }) => Object.keys(inputs)), ...LIBRARIES, ...PACKAGES, EXPLORER];
const packages = new Map<string, string>();
for (const input of inputs) {
  const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)/.exec(input)?.[1];
  if (found === undefined || !existsSync(join(found, 'package.json'))) continue;
  const read = JSON.parse(readFileSync(join(found, 'package.json'), 'utf8')) as { name?: string; version?: string; license?: string };
  if (read.name !== undefined && read.version !== undefined) packages.set(`${read.name}@${read.version}`, read.license ?? 'unknown');
}
const lines = [...packages].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, terms]) => `${id}\t${terms}\n`);
writeFileSync(join(app, 'npm-packages.tsv'), lines.join(''));
console.log(
  `  bundled ${metafiles.flatMap(({ outputs }) => Object.keys(outputs)).length} files, ${lines.length} npm packages, into ${into}`,
);
