/** Which servers test files need beside those that `make test` always builds: scripts/build-servers builds them when they are asked for. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The module of test/kit that starts each. */
const STARTED_IN = {
  helm: 'test/kit/kube/chart.ts',
  kstatus: 'test/kit/controller/operator.ts',
  kwok: 'test/kit/kube/kubernetes.ts',
} as const;
export type TestServer = keyof typeof STARTED_IN;
const NAMES = Object.keys(STARTED_IN) as TestServer[];

/** @param files from the top of the checkout, where this runs */
export function serversFor(files: readonly string[]): readonly TestServer[] {
  const needed = new Set(files.flatMap(neededBy));
  return NAMES.filter((name) => needed.has(name));
}

/** Whether a test starts any server that was built, also one of those that are always there. @param file from the top of the checkout */
export const startsServer = (file: string): boolean =>
  [...reached(file)].some((module) => module.endsWith('.ts') && STARTS.test(readFileSync(module, 'utf8')));

/** Of what lies beside these programs, the launcher and what serves pictures are built by `make setup`. */
const STARTS = /\.cache\/bin(?!\/(launcher|vips-server|own-tmpfile))/;

function neededBy(file: string): readonly TestServer[] {
  const modules = reached(file);
  const goesWithoutNodes = /without: \[[^\]]*'kwok'/.test(readFileSync(file, 'utf8'));
  return NAMES.filter((name) => modules.has(STARTED_IN[name]) && !(name === 'kwok' && goesWithoutNodes));
}

/** A test and all modules of test/ that it imports, directly or not. */
function reached(file: string): ReadonlySet<string> {
  const found = new Set([file]);
  // A set is gone through with what is added meanwhile.
  for (const path of found) {
    for (const [, to] of readFileSync(path, 'utf8').matchAll(/ from '(\.{1,2}\/[^']+\.ts)'/g)) {
      const module = join(dirname(path), to ?? '');
      // A test may have a text that looks like an import.
      if (module.startsWith('test/') && existsSync(module)) found.add(module);
    }
  }
  return found;
}
