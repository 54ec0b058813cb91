/**
 * Writes down which conversions were proved, by which engines and with which versions of them, on one release of Debian: all that are offered, or nothing
 * for the release that CI has.
 *
 *   proved.ts              of all, in this run
 *   PAIRS=new proved.ts    of those that were not listed before, in this run; the others before and by the same engines
 *
 * With PROVE_AT, the URL of a service, and RELEASE, the codename of the release that it runs on, its versions are written down.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { engines } from '../src/catalog/engines.gen.ts';
import { proved } from '../src/catalog/proved.gen.ts';
import {
  CHECKED_RELEASE,
  listOf,
  listPath,
  nameOf,
  offered,
  pairsOf,
  proofList,
  releaseToProve,
  testNameOf,
  unlisted,
} from '../test/formats/spread.ts';

/** What is read of Vitest's JSON report on test/formats. */
interface Report {
  readonly testResults: readonly { readonly assertionResults: readonly { readonly title: string; readonly status: string }[] }[];
}
const release = releaseToProve();
const { testResults } = JSON.parse(readFileSync('.cache/proved-report.json', 'utf8')) as Report;
const passed = new Set(
  testResults.flatMap(({ assertionResults }) => assertionResults.filter(({ status }) => status === 'passed').map(({ title }) => title)),
);
const pairs = pairsOf(offered);
// With PAIRS=new, those that were listed before were not tried again.
const tried = process.env['PAIRS'] === 'new' ? unlisted(pairs, listOf(release)) : pairs;
const missing = new Set(tried.filter((pair) => !passed.has(testNameOf(pair))));
if (missing.size > 0) {
  console.error(`${missing.size} of ${pairs.length} conversions were not proved: ${[...missing].slice(0, 20).map(nameOf).join(', ')}`);
  if (release === CHECKED_RELEASE) process.exit(1);
}
const proven = pairs.filter((pair) => !missing.has(pair));
writeFileSync(listPath(release), proofList(proven));
console.log(`wrote ${listPath(release)}: ${proven.length} conversions`);

const path = 'src/catalog/proved.gen.ts';
const before = proved[release] ?? {};
const versions = await versionsSeen();
const rows = engines.flatMap(({ id }) => {
  const upstream = versions.get(id)?.match(/^\d+\.\d+/)?.[0];
  // With PAIRS=new, most of its conversions were proved with the version before.
  const other = before[id];
  if (process.env['PAIRS'] === 'new' && upstream !== undefined && other !== undefined && other !== upstream) {
    console.error(`${id} is ${upstream} here and was ${other}: run make proved`);
    process.exit(1);
  }
  return upstream === undefined ? [] : [[id, upstream] as const];
});
// An engine with conversions that a release has not proved is not proved there.
const tables = Object.fromEntries(
  Object.entries({ ...proved, [release]: Object.fromEntries(rows) })
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, table]) => {
      const open = new Set(unlisted(pairs, listOf(name)).flatMap(({ route }) => route.hops.map(({ engine }) => engine.id)));
      return [name, Object.fromEntries(Object.entries(table).filter(([id]) => !open.has(id)))] as const;
    }),
);
const content = `/** With which version of each engine the test suite proved its conversions. Written by \`make proved\`: do not edit. */

/** By codename of the Debian release that the engines came from: upstream's major.minor, by engine id. */
export const proved: Readonly<Record<string, Readonly<Record<string, string>>>> = ${JSON.stringify(tables)};
`;
const formatted = execFileSync('node_modules/.bin/biome', ['check', '--write', `--stdin-file-path=${path}`], {
  input: content,
  encoding: 'utf8',
});
writeFileSync(path, formatted);
console.log(`wrote ${path}: ${rows.length} of ${engines.length} engines`);

/** Versions by engine id, as the services of the tests found them (exec/toolbox.ts), or as the one at PROVE_AT says. */
async function versionsSeen(): Promise<ReadonlyMap<string, string>> {
  const at = process.env['PROVE_AT'];
  if (at === undefined) {
    const seen = JSON.parse(readFileSync('.cache/test-versions.json', 'utf8')) as Readonly<Record<string, { readonly version: string }>>;
    return new Map(Object.entries(seen).map(([key, { version }]) => [key.split(' ')[0] ?? '', version]));
  }
  const response = await fetch(`${at}/api/v1/formats`, { signal: AbortSignal.timeout(30_000) });
  const { data } = (await response.json()) as {
    readonly data: { readonly engines: Readonly<Record<string, { readonly version: string }>> };
  };
  return new Map(Object.entries(data.engines).map(([id, { version }]) => [id, version]));
}
