/** Writes down with which versions of the engines the conversions were proved. To be run after the tests of every pair have passed. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { engines } from '../src/catalog/engines.gen.ts';

const path = 'src/catalog/proved.gen.ts';
/** By `<engine id> <binary> …`, as the services of the tests found them (exec/toolbox.ts). */
const seen = JSON.parse(readFileSync('.cache/test-versions.json', 'utf8')) as Readonly<Record<string, string>>;

const rows = engines.flatMap(({ id }) => {
  const [, version] = Object.entries(seen).find(([key]) => key.split(' ')[0] === id) ?? [];
  const upstream = version?.match(/^\d+\.\d+/)?.[0];
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
