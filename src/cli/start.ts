/** Where the commands on files begin in what `scripts/build-command` builds. Where a source has changed since, they begin with the sources. */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** It is built into `.cache/command`. */
const checkout = dirname(dirname(import.meta.dirname));

function isCurrent(): boolean {
  const sources = JSON.parse(readFileSync(join(import.meta.dirname, 'sources.json'), 'utf8')) as readonly (readonly [string, number])[];
  return sources.every(([path, mtimeMs]) => statSync(join(checkout, path), { throwIfNoEntry: false })?.mtimeMs === mtimeMs);
}

if (isCurrent()) {
  const { runFileCommand } = await import('./files.ts');
  const [name = '', ...args] = process.argv.slice(2);
  // Its result may still be on its way through a pipe.
  process.exitCode = await runFileCommand(name, args, checkout);
} else await import(pathToFileURL(join(checkout, 'src/main.ts')).href);
