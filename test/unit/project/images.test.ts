/** How images are made: where their packages come from, which updates they may lack, and how they say what is in them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { takenSchema } from '../../../src/exec/models/manifest.ts';

const run = (file: string, args: readonly string[], input = '', env: Readonly<Record<string, string>> = {}): string =>
  execFileSync(file, args, { input, encoding: 'utf8', stdio: 'pipe', env: { PATH: process.env['PATH'] ?? '', ...env } });

describe('the archives of the packages', () => {
  const archives = (env: Readonly<Record<string, string>>) =>
    run('images/sources', [], '', env)
      .trim()
      .split('\n')
      .map((line) => /^deb \[(?<options>[^\]]*)\] (?<archive>.*)$/.exec(line)?.groups);

  it('are those of the release, its updates and its security updates', () => {
    expect(archives({}).map((found) => found?.['archive'])).toEqual([
      'http://deb.debian.org/debian trixie main',
      'http://deb.debian.org/debian trixie-updates main',
      'http://deb.debian.org/debian-security trixie-security main',
    ]);
  });
  it('are all those of one day, whose signatures have expired', () => {
    const found = archives({ APT_SNAPSHOT: '20261101T000000Z' });
    expect(found.map((line) => line?.['archive'])).toEqual([
      'http://snapshot.debian.org/archive/debian/20261101T000000Z trixie main',
      'http://snapshot.debian.org/archive/debian/20261101T000000Z trixie-updates main',
      'http://snapshot.debian.org/archive/debian-security/20261101T000000Z trixie-security main',
    ]);
    for (const line of found) expect(line?.['options']).toContain('check-valid-until=no');
  });
});

describe('updates that an image lacks', () => {
  const folder = mkdtempSync(join(tmpdir(), 'filemill-images-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  cpSync('images/refused-updates', join(folder, 'refused-updates'));
  writeFileSync(join(folder, 'accepted-updates.txt'), '# why\nlibexample1 2026-12-31 its new version breaks fonts\n');
  const LISTED = `Listing...
libexample1/stable-security 2.0-1+deb13u2 amd64 [upgradable from: 2.0-1]
libreoffice-core/stable-security,stable-updates 4:25.2.3-2+deb13u12 amd64 [upgradable from: 4:25.2.3-2+deb13u9]
`;
  const refused = (day: string) => run(join(folder, 'refused-updates'), [day], LISTED);
  const office = 'libreoffice-core 4:25.2.3-2+deb13u9 -> 4:25.2.3-2+deb13u12 (stable-security,stable-updates)\n';

  it('are refused unless they are accepted', () => expect(refused('2026-12-31')).toBe(office));
  it('are refused after the last day', () =>
    expect(refused('2027-01-01')).toBe(`libexample1 2.0-1 -> 2.0-1+deb13u2 (stable-security)\n${office}`));
  it('are none where none is listed', () => expect(run(join(folder, 'refused-updates'), ['2026-12-31'], 'Listing...\n')).toBe(''));
});

describe("V8's compiled code in an image", () => {
  const folder = mkdtempSync(join(tmpdir(), 'filemill-images-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const FLAGS = /BUILD_FLAGS=(\S+) timeout 10 filemill/.exec(readFileSync('images/app/Dockerfile', 'utf8'))?.[1] ?? '';
  /** As a build starts a role without its servers. @returns what V8 wrote, by file */
  const compiled = (name: string): Readonly<Record<string, string>> => {
    const cache = join(folder, name);
    const env = { HOME: folder, DATA_DIR: folder, NODE_COMPILE_CACHE: cache, NODE_COMPILE_CACHE_PORTABLE: '1' };
    const start = [FLAGS, '--disable-warning=ExperimentalWarning', join(folder, 'app/src/main.js'), 'api'];
    spawnSync(process.execPath, start, { env, stdio: 'ignore', timeout: 30_000 });
    const files = readdirSync(cache, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return Object.fromEntries(files.map((file) => [file.name, readFileSync(join(file.parentPath, file.name), 'base64')]));
  };

  it('is the same each time it is built, and roles take it without the flag of the build', () => {
    run(process.execPath, ['--disable-warning=ExperimentalWarning', 'images/bundle.ts', join(folder, 'app')]);
    const first = compiled('first');
    expect(Object.keys(first).length).toBeGreaterThan(20);
    expect(compiled('second')).toEqual(first);
    const env = { HOME: folder, DATA_DIR: folder, NODE_COMPILE_CACHE: join(folder, 'first'), NODE_COMPILE_CACHE_PORTABLE: '1' };
    const start = spawnSync(process.execPath, [join(folder, 'app/src/main.js'), 'api'], {
      env: { ...env, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
      encoding: 'utf8',
      timeout: 30_000,
    });
    const said = `${start.stdout}${start.stderr}`;
    // Not one for each file: lines are lost where two threads write at once.
    expect(said.match(/was accepted/g)?.length).toBeGreaterThan(20);
    expect(said).not.toContain('was rejected');
  }, 120_000);
});

describe('the libraries for GPUs', () => {
  const { packages, files } = takenSchema.parse(parse(readFileSync('images/ai-cuda/packages.yaml', 'utf8')));

  it("have ONNX Runtime of the version that Node's binding is of", () => {
    const { version } = JSON.parse(readFileSync('node_modules/onnxruntime-node/package.json', 'utf8')) as { version: string };
    expect(packages.map(({ file }) => file)).toContainEqual(expect.stringContaining(`onnxruntime_gpu-${version}-`));
  });

  it('come with the terms that they may be used under', () => {
    const names = files.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['cuda.txt', 'cudnn.txt', 'onnxruntime.txt', 'onnxruntime-third-party.txt']));
  });
});

describe('what an image contains', () => {
  const LIST = [
    'deb\tlibstdc++6\t14.2.0-19\tgcc-14\tamd64',
    'deb\tbash\t5.2.37-2+b3\tbash\tamd64',
    'npm\t@img/sharp-linux-x64@0.35.5\tApache-2.0',
    'npm\tjust@1.0.0\tSEE LICENSE IN LICENSE',
    'pypi\tnvidia-cublas@13.1.0.3\tsee /usr/share/doc/filemill-cuda',
    '',
  ].join('\n');
  const sbom = (list = LIST) =>
    run(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', 'images/sbom.ts', 'image', 'abc', '0123', '2026-11-24T14:25:48Z'],
      list,
    );
  interface Package {
    readonly SPDXID: string;
    readonly versionInfo: string;
    readonly licenseDeclared: string;
    readonly externalRefs?: readonly { readonly referenceLocator: string }[];
  }
  const parsed = JSON.parse(sbom()) as Record<string, unknown> & {
    readonly packages: readonly Package[];
    readonly relationships: readonly { readonly relatedSpdxElement: string }[];
  };
  /** From the JSON schema of SPDX 2.3: what a document, a package and a relationship must have. */
  const REQUIRED = {
    document: ['SPDXID', 'creationInfo', 'dataLicense', 'documentNamespace', 'name', 'spdxVersion'],
    package: ['SPDXID', 'downloadLocation', 'name'],
    relationship: ['spdxElementId', 'relatedSpdxElement', 'relationshipType'],
  };

  it('is a document of SPDX 2.3', () => {
    expect(Object.keys(parsed)).toEqual(expect.arrayContaining(REQUIRED.document));
    expect(parsed).toMatchObject({
      spdxVersion: 'SPDX-2.3',
      dataLicense: 'CC0-1.0',
      SPDXID: 'SPDXRef-DOCUMENT',
      creationInfo: { created: '2026-11-24T14:25:48Z', creators: [expect.stringMatching(/^Tool: /)] },
    });
    for (const found of parsed.packages) {
      expect(Object.keys(found)).toEqual(expect.arrayContaining(REQUIRED.package));
      expect(found.SPDXID).toMatch(/^SPDXRef-[A-Za-z0-9.-]+$/);
    }
    for (const found of parsed.relationships) expect(Object.keys(found)).toEqual(expect.arrayContaining(REQUIRED.relationship));
    expect(parsed.relationships.map(({ relatedSpdxElement }) => relatedSpdxElement)).toEqual(parsed.packages.map(({ SPDXID }) => SPDXID));
  });
  it('names packages as scanners look them up', () => {
    const urls = parsed.packages.flatMap(({ externalRefs = [] }) => externalRefs.map(({ referenceLocator }) => referenceLocator));
    expect(urls).toEqual([
      'pkg:deb/debian/libstdc%2B%2B6@14.2.0-19?arch=amd64&distro=trixie&upstream=gcc-14',
      'pkg:deb/debian/bash@5.2.37-2%2Bb3?arch=amd64&distro=trixie',
      'pkg:npm/%40img/sharp-linux-x64@0.35.5',
      'pkg:npm/just@1.0.0',
      'pkg:pypi/nvidia-cublas@13.1.0.3',
    ]);
    expect(parsed.packages.slice(3).map(({ licenseDeclared }) => licenseDeclared)).toEqual(['Apache-2.0', 'NOASSERTION', 'NOASSERTION']);
  });
  it('is the same each time, and fails for a line that it cannot read', () => {
    expect(sbom()).toBe(sbom());
    expect(() => sbom('deb\tbash\n')).toThrow();
  });
});
