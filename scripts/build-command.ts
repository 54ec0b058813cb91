/**
 * Bundles what `filemill convert` and the like need, and lists what it was made of.
 *
 *   build-command.ts FOLDER     an empty folder
 */
import { statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { build, type Plugin } from 'vite';

const checkout = dirname(import.meta.dirname);
const outDir = resolve(process.argv[2] ?? '');
const sources = new Set([join(checkout, 'package-lock.json')]);

const remember: Plugin = {
  name: 'remember-sources',
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle))
      if (chunk.type === 'chunk') for (const id of Object.keys(chunk.modules)) if (id.startsWith(`${checkout}/src/`)) sources.add(id);
  },
};

await build({
  configFile: false,
  root: checkout,
  logLevel: 'error',
  plugins: [remember],
  ssr: { noExternal: true },
  build: {
    ssr: 'src/cli/start.ts',
    outDir,
    target: 'node26',
    minify: false,
    rollupOptions: { external: [/^node:/], output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' } },
  },
});
// As src/cli/start.ts reads it.
const list = [...sources].sort().map((path) => [relative(checkout, path), statSync(path).mtimeMs]);
writeFileSync(join(outDir, 'sources.json'), JSON.stringify(list));
