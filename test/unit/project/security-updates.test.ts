/** `make run` says which security updates converters lack: a real apt, on a machine that stands in two files. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'filemill-updates-'));
const archive = join(folder, 'archive');
const paragraph = (fields: Readonly<Record<string, string>>): string =>
  `${Object.entries({ Architecture: 'all', Maintainer: 'nobody', Description: 'a package', ...fields })
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')}\n\n`;
const installed = (name: string, depends?: string) =>
  paragraph({ Package: name, Status: 'install ok installed', Version: '1.0', ...(depends !== undefined && { Depends: depends }) });
const offered = (name: string, depends?: string) =>
  paragraph({
    Package: name,
    Version: '1.1',
    Filename: `./${name}.deb`,
    Size: '1',
    SHA256: '0'.repeat(64),
    ...(depends !== undefined && { Depends: depends }),
  });
const environment = { PATH: process.env['PATH'] ?? '', APT_CONFIG: join(folder, 'apt.conf'), DPKG_ADMINDIR: join(folder, 'dpkg') };
const told = (): string =>
  spawnSync('scripts/security-updates', [join(folder, 'packages.txt')], { encoding: 'utf8', env: environment }).stderr;
function publish(origin: string): void {
  // apt refuses an archive that changes its name.
  rmSync(join(folder, 'lists'), { recursive: true, force: true });
  mkdirSync(join(folder, 'lists/partial'), { recursive: true });
  writeFileSync(
    join(archive, 'Release'),
    `Origin: Debian\nLabel: ${origin}\nSuite: stable${origin === 'Debian' ? '' : '-security'}\nDate: Tue, 24 Nov 2026 00:00:00 UTC\n`,
  );
  const { status, stderr } = spawnSync('apt-get', ['update', '-qq'], { encoding: 'utf8', env: environment });
  if (status !== 0) throw new Error(`apt-get update: ${stderr}`);
}

beforeAll(() => {
  for (const name of ['archive', 'cache/archives/partial', 'dpkg/updates', 'dpkg/info']) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'packages.txt'), '# Converters\nconverter\nnot-installed\n');
  writeFileSync(join(folder, 'dpkg/status'), installed('converter', 'codec') + installed('codec') + installed('editor'));
  writeFileSync(join(archive, 'Packages'), offered('converter', 'codec') + offered('codec') + offered('editor'));
  writeFileSync(join(folder, 'sources.list'), `deb [trusted=yes] file:${archive} ./\n`);
  const settings = {
    'Dir::Etc::sourcelist': join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Etc::preferencesparts': '/dev/null',
    'Dir::State': folder,
    'Dir::State::status': join(folder, 'dpkg/status'),
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::Cache': join(folder, 'cache'),
    'APT::Sandbox::User': '',
  };
  writeFileSync(
    environment.APT_CONFIG,
    Object.entries(settings)
      .map(([name, value]) => `${name} "${value}";\n`)
      .join(''),
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

it('names converters and what they load, and nothing else', () => {
  publish('Debian-Security');
  expect(told()).toMatch(/pending for 2 packages that converters use/);
  expect(told()).toMatch(/^ {4}codec converter$/m);
  expect(told()).not.toContain('editor');
});
it('is silent about updates that are not for security', () => {
  publish('Debian');
  expect(told()).toBe('');
});
