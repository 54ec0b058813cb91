/** Where the commands on files begin in what `scripts/build-command` builds. Where a source has changed since, they begin with the sources. */
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isCurrent } from './sources.ts';

/** It is built into `.cache/command`. */
const checkout = dirname(dirname(import.meta.dirname));

if (isCurrent(import.meta.dirname, checkout)) {
  const { runFileCommand } = await import('./files.ts');
  const [name = '', ...args] = process.argv.slice(2);
  // Its result may still be on its way through a pipe.
  process.exitCode = await runFileCommand(name, args, checkout);
} else await import(pathToFileURL(join(checkout, 'src/main.ts')).href);
