/**
 * Makes what a release consists of beside its images, in .cache/dist: the npm package of the command line, the chart, what each contains (SPDX),
 * where they come from (SLSA provenance), and the sums of all. The same commit makes the same files.
 *
 *   node scripts/dist.ts
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import { commitOf, versionAt } from '../src/roles/process/program.ts';

export interface Subject {
  readonly name: string;
  /** SHA-256 in hexadecimal. */
  readonly sha256: string;
}

export interface BuiltFrom {
  readonly version: string;
  readonly commit: string;
  /** Of the repository, as https://… */
  readonly source: string;
  /** Which machine built it: the URL of a run, or `local`. */
  readonly builder: string;
  /** RFC 3339, in UTC: the commit's time, so that the same commit makes the same statement. */
  readonly createdAt: string;
}

/** @returns an in-toto statement (in-toto.io/Statement/v1) with SLSA provenance (slsa.dev/spec/v1.0/provenance) */
export const provenanceOf = (subjects: readonly Subject[], { version, commit, source, builder, createdAt }: BuiltFrom) => ({
  _type: 'https://in-toto.io/Statement/v1',
  subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
  predicateType: 'https://slsa.dev/provenance/v1',
  predicate: {
    buildDefinition: {
      buildType: 'https://filemill.io/build/make-dist/v1',
      externalParameters: { target: 'dist', version },
      resolvedDependencies: [{ uri: `git+${source}@refs/tags/v${version}`, digest: { gitCommit: commit } }],
    },
    runDetails: { builder: { id: builder }, metadata: { invocationId: builder, startedOn: createdAt } },
  },
});

/**
 * What `npm install --global` brings: the commands, and the launcher for the processor that it was built on.
 * @param carried libraries that lie in the package, with their versions: npm brings no others
 */
export const packageJson = (version: string, commit: string, cpu: string, carried: Readonly<Record<string, string>>) => ({
  name: 'filemill',
  version,
  description: 'Converts files at a terminal, here or on a filemill server',
  license: 'Apache-2.0',
  type: 'module',
  bin: { filemill: 'bin/filemill' },
  man: 'man/filemill.1',
  engines: { node: '>=26' },
  os: ['linux'],
  cpu: [cpu],
  files: ['bin', 'man', 'src', '.cache/bin', 'models/licences', 'npm-packages.tsv', 'LICENSE'],
  dependencies: carried,
  bundleDependencies: Object.keys(carried),
  gitHead: commit,
});

const COMMAND = `#!/bin/sh
# Runs a command of filemill by the Node that is installed.
set -eu
self=$(readlink -f "$0")
exec node --disable-warning=ExperimentalWarning "\${self%/bin/*}/src/main.js" "$@"
`;

const run = (file: string, args: readonly string[], cwd = '.', env: Readonly<Record<string, string>> = {}, input?: string): string =>
  execFileSync(file, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
    ...(input !== undefined && { input }),
  });
const sha256 = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

function npmPackage(into: string, { version, commit }: BuiltFrom): void {
  const folder = resolve(into, 'npm');
  run(process.execPath, ['--disable-warning=ExperimentalWarning', 'images/bundle.ts', folder]);
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/filemill'), COMMAND);
  chmodSync(join(folder, 'bin/filemill'), 0o755);
  cpSync('man', join(folder, 'man'), { recursive: true });
  cpSync('LICENSE', join(folder, 'LICENSE'));
  mkdirSync(join(folder, '.cache/bin'), { recursive: true });
  for (const name of ['launcher', 'vips-server', 'chromium-child', 'own-tmpfile'])
    cpSync(join('.cache/bin', name), join(folder, '.cache/bin', name));
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify(packageJson(version, commit, process.arch, carriedIn(folder)), undefined, 2)}\n`,
  );
  run('npm', ['pack', '--silent', '--pack-destination', resolve(into)], folder);
  const list = readFileSync(join(folder, 'npm-packages.tsv'), 'utf8').replace(/^(?=.)/gm, 'npm\t');
  writeFileSync(
    join(into, `filemill-${version}.npm.spdx.json`),
    run(process.execPath, ['images/sbom.ts', 'npm', commit, commit, createdAt()], '.', {}, list),
  );
  rmSync(folder, { recursive: true });
}

/** The libraries that programs which run confined load, as `images/bundle.ts` has copied them. */
function carriedIn(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(join(folder, 'node_modules')).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(folder, 'node_modules', name)).map((inner) => `${name}/${inner}`) : [name],
  );
  // Of some, only files are there.
  const versionIn = (at: string, name: string) =>
    (JSON.parse(readFileSync(join(at, 'node_modules', name, 'package.json'), 'utf8')) as { version: string }).version;
  for (const name of names) cpSync(join('node_modules', name, 'package.json'), join(folder, 'node_modules', name, 'package.json'));
  return Object.fromEntries(names.sort().map((name) => [name, versionIn('.', name)]));
}

/** The chart says its commit. Helm's own archive has the time of its making in it. */
function chart(into: string, { version, commit, createdAt: time }: BuiltFrom): void {
  const folder = resolve(into, 'chart/filemill');
  cpSync('charts/filemill', folder, { recursive: true });
  const about = parse(readFileSync(join(folder, 'Chart.yaml'), 'utf8')) as Record<string, unknown>;
  const annotations = { ...(about['annotations'] as object | undefined), 'filemill.io/commit': commit };
  writeFileSync(join(folder, 'Chart.yaml'), stringify({ ...about, version, appVersion: version, annotations }));
  const archive = join(into, `filemill-chart-${version}.tgz`);
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX'];
  run('tar', [
    '--create',
    '--format=ustar',
    '--sort=name',
    `--mtime=${time}`,
    ...owner,
    '--use-compress-program=gzip -n9',
    '--file',
    archive,
    '-C',
    join(into, 'chart'),
    'filemill',
  ]);
  // It reads what `helm push` and `helm install` will.
  const shown = parse(run('.cache/bin/helm', ['show', 'chart', archive])) as { version: string };
  if (shown.version !== version) throw new Error(`dist: the chart says it is ${shown.version}`);
  rmSync(join(into, 'chart'), { recursive: true });
}

const createdAt = (): string =>
  run('git', ['log', '-1', '--date=format-local:%Y-%m-%dT%H:%M:%SZ', '--format=%cd'], '.', { TZ: 'UTC' }).trim();

if (import.meta.main) {
  const into = '.cache/dist';
  const commit = commitOf(process.cwd());
  if (commit === undefined) throw new Error('dist: this is no checkout, and a release names its commit');
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: id } = process.env;
  const source = server === undefined ? 'https://filemill.io' : `${server}/${repository}`;
  const builder = id === undefined ? 'https://filemill.io/build/local' : `${source}/actions/runs/${id}`;
  const from = { version: versionAt(process.cwd()), commit, source, builder, createdAt: createdAt() };
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true });
  chart(into, from);
  npmPackage(into, from);
  const subjects = readdirSync(into)
    .sort()
    .map((name) => ({ name, sha256: sha256(join(into, name)) }));
  writeFileSync(join(into, `filemill-${from.version}.intoto.json`), `${JSON.stringify(provenanceOf(subjects, from))}\n`);
  const sums = readdirSync(into).sort();
  writeFileSync(join(into, 'SHA256SUMS'), sums.map((name) => `${sha256(join(into, name))}  ${name}\n`).join(''));
  console.log([...sums, 'SHA256SUMS'].map((name) => `  ${into}/${name}`).join('\n'));
}
