/**
 * Writes down which conversions were proved, by which engines and with which versions of them: all that are offered, or nothing.
 *
 *   proved.ts              of all, in this run
 *   PAIRS=new proved.ts    of those that were not listed before, in this run; the others before and by the same engines
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { engines } from '../src/catalog/engines.gen.ts';
import { nameOf, offered, pairsOf, proofList, testNameOf, unlisted } from '../test/kit/spread.ts';

/** What is read of Vitest's JSON report on test/formats. */
interface Report {
  readonly testResults: readonly { readonly assertionResults: readonly { readonly title: string; readonly status: string }[] }[];
}
const { testResults } = JSON.parse(readFileSync('.cache/proved-report.json', 'utf8')) as Report;
const passed = new Set(
  testResults.flatMap(({ assertionResults }) => assertionResults.filter(({ status }) => status === 'passed').map(({ title }) => title)),
);
const pairs = pairsOf(offered);
// With PAIRS=new, those that were listed before were not tried again.
const tried = process.env['PAIRS'] === 'new' ? unlisted(pairs, readFileSync('test/formats/proved.txt', 'utf8')) : pairs;
const missing = tried.filter((pair) => !passed.has(testNameOf(pair)));
if (missing.length > 0) {
  console.error(`${missing.length} of ${pairs.length} conversions were not proved: ${missing.slice(0, 20).map(nameOf).join(', ')}`);
  process.exit(1);
}
writeFileSync('test/formats/proved.txt', proofList(pairs));
console.log(`wrote test/formats/proved.txt: ${pairs.length} conversions`);

const path = 'src/catalog/proved.gen.ts';
/** By `<engine id> <binary> …`, as the services of the tests found them (exec/toolbox.ts). */
const seen = JSON.parse(readFileSync('.cache/test-versions.json', 'utf8')) as Readonly<Record<string, { readonly version: string }>>;

const { proved: before } = (await import('../src/catalog/proved.gen.ts')) as { proved: Readonly<Record<string, string>> };

const rows = engines.flatMap(({ id }) => {
  const [, read] = Object.entries(seen).find(([key]) => key.split(' ')[0] === id) ?? [];
  const upstream = read?.version.match(/^\d+\.\d+/)?.[0];
  // With PAIRS=new, most of its conversions were proved with the version before.
  const other = before[id];
  if (process.env['PAIRS'] === 'new' && upstream !== undefined && other !== undefined && other !== upstream) {
    console.error(`${id} is ${upstream} here and was ${other}: run make proved`);
    process.exit(1);
  }
  return upstream === undefined ? [] : [`  '${id}': '${upstream}',`];
});
const content = `/** With which version of each engine the test suite proved its conversions. Written by \`make proved\`: do not edit. */

/** Upstream's major.minor, by engine id. */
export const proved: Readonly<Record<string, string>> = {
${rows.join('\n')}
};
`;
const formatted = execFileSync('node_modules/.bin/biome', ['check', '--write', `--stdin-file-path=${path}`], {
  input: content,
  encoding: 'utf8',
});
writeFileSync(path, formatted);
console.log(`wrote ${path}: ${rows.length} of ${engines.length} engines`);
