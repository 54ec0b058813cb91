/**
 * Bundles what `filemill convert` and the like need, and lists what it was made of.
 *
 *   build-command.ts FOLDER               an empty folder
 *   build-command.ts --current FOLDER     succeeds where what it was made of is as it was
 */
import { statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { isCurrent, LIST, type Sources } from '../src/cli/sources.ts';
import { isWithin } from '../src/paths.ts';

const checkout = dirname(import.meta.dirname);
/** What a conversion on this machine loads at once and while its converter starts, with all that these import: two files, as finding each file takes longer than reading it. */
const CONVERTS = /\/src\/(?:cli\/(?:convert|files\/(?:open|here))|catalog\/(?:engines\.gen|tools))\.ts$/;
const [first = '', second = ''] = process.argv.slice(2);

if (first === '--current') process.exitCode = isCurrent(resolve(second), checkout) ? 0 : 1;
else await bundle(resolve(first));

async function bundle(outDir: string): Promise<void> {
  const { build } = await import('vite');
  /** When each was last changed, before it was read. */
  const sources = new Map<string, number>();
  const remember = (path: string): void => void sources.set(relative(checkout, path), statSync(path).mtimeMs);
  for (const path of ['package-lock.json', 'scripts/build-command.ts']) remember(join(checkout, path));
  await build({
    configFile: false,
    root: checkout,
    logLevel: 'error',
    plugins: [
      {
        name: 'remember-sources',
        load(id) {
          if (isWithin(join(checkout, 'src'), id)) remember(id);
        },
      },
    ],
    ssr: { noExternal: true },
    build: {
      ssr: 'src/cli/start.ts',
      outDir,
      target: 'node26',
      minify: false,
      rolldownOptions: {
        external: [/^node:/],
        output: {
          entryFileNames: '[name].js',
          chunkFileNames: '[name]-[hash].js',
          codeSplitting: {
            groups: [
              { name: 'convert', test: CONVERTS, priority: 1 },
              { name: 'conversions', test: /\/src\/cli\/files\/conversions\.ts$/ },
            ],
          },
        },
      },
    },
  });
  const list: Sources = [...sources].sort();
  writeFileSync(join(outDir, LIST), JSON.stringify(list));
}
