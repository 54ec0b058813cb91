/**
 * Every place that has the version of filemill: `make version` writes it to all of them, and a test fails where one differs.
 *
 *   node scripts/versions.ts VERSION    also copies the API's document to that of the latest release, and dates the section of the changelog
 */
import { copyFileSync, globSync, readFileSync, writeFileSync } from 'node:fs';

/** Major, minor, patch, and perhaps `-rc.1` (semver.org, 2). */
export const VERSION = /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*)?$/;
const FOUND = '(\\d+\\.\\d+\\.\\d+(?:-[\\w.]+)?)';

interface Place {
  /** Globs, from the top of the checkout. */
  readonly files: readonly string[];
  /** What stands before the version, and the version as a group. */
  readonly pattern: RegExp;
}

/** What is generated follows from these: the manifests, the API's document, the workers in compose.cluster.yaml. */
const PLACES: readonly Place[] = [
  { files: ['package.json', 'server.json', 'clients/typescript/package.json'], pattern: new RegExp(`^  "version": "${FOUND}"`, 'm') },
  { files: ['package-lock.json'], pattern: new RegExp(`"name": "filemill",\\n\\s+"version": "${FOUND}"`, 'g') },
  { files: ['charts/filemill/Chart.yaml'], pattern: new RegExp(`^(?:version|appVersion): ${FOUND}`, 'gm') },
  { files: ['compose*.yaml', 'docs/cluster.md'], pattern: new RegExp(`FILEMILL_VERSION:-${FOUND}`, 'g') },
  { files: ['deploy/casaos/docker-compose.yml', 'deploy/umbrel/umbrel-app.yml'], pattern: new RegExp(`^ *version: "${FOUND}"`, 'm') },
  { files: ['deploy/truenas/app.yaml'], pattern: new RegExp(`^app_version: ${FOUND}`, 'm') },
  { files: ['deploy/truenas/ix_values.yaml'], pattern: new RegExp(`\\btag: ${FOUND}`, 'm') },
  {
    files: ['{docs,manifests,deploy,test/cluster}/**/*.{md,yaml,yml,xml,json,ts}', 'compose*.yaml', 'CONTRIBUTING.md', 'README.md'],
    pattern: new RegExp(`\\bfilemill(?:/[a-z-]+)?:${FOUND}`, 'g'),
  },
];

export interface FoundVersion {
  readonly file: string;
  readonly version: string;
}

/** Every version that stands somewhere. */
export const versionsFound = (): readonly FoundVersion[] =>
  PLACES.flatMap(({ files, pattern }) =>
    globSync([...files]).flatMap((file) => {
      const matches = readFileSync(file, 'utf8').matchAll(new RegExp(pattern, `${pattern.flags.replace('g', '')}g`));
      return [...matches].map(([, version = '']) => ({ file, version }));
    }),
  );

/** Whether the first is later (semver.org, 11), of two that VERSION matches. A version with a hyphen comes before the same without. */
export function isLater(version: string, than: string): boolean {
  const [[numbers, pre], [others, otherPre]] = [partsOf(version), partsOf(than)];
  const differs = numbers.findIndex((number, at) => number !== others[at]);
  if (differs >= 0) return (numbers[differs] ?? 0) > (others[differs] ?? 0);
  if (pre === '' || otherPre === '') return pre === '' && otherPre !== '';
  return pre.localeCompare(otherPre, 'en', { numeric: true }) > 0;
}
function partsOf(version: string): readonly [readonly number[], string] {
  const [numbers = '', ...pre] = version.split('-');
  return [numbers.split('.').map(Number), pre.join('-')];
}

/** @returns the section of a version in a changelog, without its heading; undefined where there is none @param dated only one with a date */
export function changesOf(changelog: string, version: string, dated = true): string | undefined {
  const heading = new RegExp(`^## \\[${RegExp.escape(version)}\\] - ${dated ? '\\d{4}-\\d\\d-\\d\\d' : '\\S+'}$`, 'm').exec(changelog);
  if (heading === null) return undefined;
  const rest = changelog.slice(heading.index + heading[0].length);
  const end = rest.search(/^## /m);
  return (end < 0 ? rest : rest.slice(0, end)).trim();
}

function write(version: string, today: string): void {
  for (const { files, pattern } of PLACES)
    for (const file of globSync([...files])) {
      const text = readFileSync(file, 'utf8');
      const changed = text.replace(pattern, (match, found: string) => match.replace(found, version));
      if (changed === text) continue;
      writeFileSync(file, changed);
      console.log(`wrote ${file}`);
    }
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  writeFileSync('CHANGELOG.md', changelog.replace(new RegExp(`^(## \\[${RegExp.escape(version)}\\]) - unreleased$`, 'm'), `$1 - ${today}`));
}

if (import.meta.main) {
  const [version = '', step] = process.argv.slice(2);
  if (!VERSION.test(version)) throw new Error(`VERSION=${version}: expected a version such as 0.2.0`);
  // The document is generated between both steps.
  if (step === '--released') copyFileSync('docs/openapi.json', 'docs/openapi.released.json');
  else write(version, new Date().toISOString().slice(0, 10));
}
