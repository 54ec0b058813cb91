/** Names in archives: none misleads in the result, and no entry takes the place of another one. Python makes the archives, and reads the results. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { convert } from '../../kit/roles/service.ts';
import { conversionGround } from './ground.ts';

const ground = conversionGround('archive-names');

type Files = readonly (readonly [name: string, content: string])[];

const WRITE = `
import io, json, sys, tarfile, zipfile
path, files = sys.argv[1], json.load(sys.stdin)
if path.endswith('.zip'):
    with zipfile.ZipFile(path, 'w') as out:
        for name, content in files: out.writestr(zipfile.ZipInfo(name), content)
else:
    with tarfile.open(path, 'w', format=tarfile.PAX_FORMAT) as out:
        for name, content in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            out.addfile(entry, io.BytesIO(content.encode()))
`;
const READ = `
import json, sys, tarfile, warnings, zipfile
path = sys.argv[1]
if zipfile.is_zipfile(path):
    with zipfile.ZipFile(path) as it: files = [[name, it.read(name).decode()] for name in it.namelist()]
else:
    with tarfile.open(path) as it: files = [[entry.name, it.extractfile(entry).read().decode()] for entry in it if entry.isfile()]
json.dump(files, sys.stdout)
`;
const python = (program: string, path: string, input = ''): string =>
  execFileSync('python3', ['-W', 'ignore', '-c', program, path], { input, encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8' } });

async function converted(files: Files, from: 'zip' | 'tar', to: 'zip' | 'cbz' | 'tar' | 'tgz') {
  const path = join(await ground.aFolder(), `made.${from}`);
  python(WRITE, path, JSON.stringify(files));
  const result = await ground.to(path, to);
  const found = JSON.parse(python(READ, result.path)) as [name: string, content: string][];
  const warnings = Object.fromEntries(result.job.warnings.map(({ code, message }) => [code, message]));
  return { files: found, warnings };
}
const number = (names: readonly string[]): Files => names.map((name, at) => [name, `content ${at}`]);

describe('what would be one file', () => {
  const SENT = ['a.txt', 'a.txt', 'A.TXT', 'e\u0301.txt', 'é.txt', 'b', 'b/c', 'd/e', 'd'];
  const APART = ['a.txt', 'a-2.txt', 'A-3.TXT', 'é.txt', 'é-2.txt', 'b', 'b-2/c', 'd/e', 'd-2'];

  it.each(['zip', 'tar'] as const)('in a %s is several in a ZIP of another kind, each with its content', async (from) => {
    const { files, warnings } = await converted(number(SENT), from, from === 'zip' ? 'cbz' : 'zip');
    expect(files).toEqual(number(APART));
    expect(warnings['names_collide']).toBe('5 files or folders had the name of another one: each has a number in the result.');
  });

  it('in a ZIP is several in a TAR, which keeps capital letters apart', async () => {
    const { files, warnings } = await converted(number(SENT), 'zip', 'tgz');
    expect(files).toEqual(number(APART.map((name) => (name === 'A-3.TXT' ? 'A.TXT' : name))));
    expect(warnings['names_collide']).toContain('4 files or folders had the name');
    expect(warnings['names_alike']).toContain('1 names differ from others only in capital letters');
  });
});

describe('a name that misleads', () => {
  const SENT = ['invoice\u202efdp.exe', 'a\u200b.txt', 'b\u2028c', 'd\u009b2Je', 'f /g.', 'q?*', '.. /.. /x'];

  it.each(['zip', 'tar'] as const)('in a %s does not in a ZIP of another kind', async (from) => {
    const { files, warnings } = await converted(number(SENT), from, from === 'zip' ? 'cbz' : 'zip');
    expect(files).toEqual(number(['invoicefdp.exe', 'a.txt', 'b_c', 'd_2Je', 'f/g', 'q__']));
    expect(warnings['names_changed']).toContain('6 names mislead');
    expect(warnings['entries_dropped']).toContain('1');
  });

  it('does not in a TAR, which keeps what Unix can have', async () => {
    const { files, warnings } = await converted(number(SENT), 'zip', 'tar');
    expect(files).toEqual(number(['invoicefdp.exe', 'a.txt', 'b_c', 'd_2Je', 'f /g.', 'q?*']));
    expect(warnings['names_changed']).toContain('4 names mislead');
  });

  it('is no matter where none does', async () => {
    const { files, warnings } = await converted(number(['a/b.txt', 'a/c.txt', '.d', 'é']), 'zip', 'tar');
    expect(files).toEqual(number(['a/b.txt', 'a/c.txt', '.d', 'é']));
    expect(warnings).toEqual({});
  });
});

describe('long paths in an ISO', () => {
  const zipOf = async (levels: number, length: number): Promise<string> => {
    const path = join(await ground.aFolder(), 'made.zip');
    const folders = Array.from({ length: levels }, (_, at) => String(at).padEnd(length, 'x'));
    python(WRITE, path, JSON.stringify([[[...folders, 'kestrel.txt'].join('/'), 'marble']]));
    return path;
  };
  const codesOf = ({ job }: Awaited<ReturnType<typeof ground.to>>) => job.warnings.map(({ code }) => code);

  it('are whole for Unix where Windows has no room for them, and this is said', async () => {
    const result = await ground.to(await zipOf(6, 60), 'iso');
    expect(codesOf(result)).toContain('names_for_unix');
    const listed = execFileSync('7z', ['l', '-ba', '-slt', result.path]).toString();
    expect(listed).toMatch(/^Path = 0x{59}\/1x{59}\/2x{59}\/3x{59}\/4x{59}\/5x{59}\/kestrel\.txt$/m);
    expect(execFileSync('7z', ['x', '-so', result.path]).toString()).toBe('marble');
  });

  it('are not said where Windows has room', async () => {
    expect(codesOf(await ground.to(await zipOf(3, 60), 'iso'))).not.toContain('names_for_unix');
  });

  it('of more folders within one another than an ISO made here has are refused with both numbers', async () => {
    expect((await ground.to(await zipOf(13, 4), 'iso')).job.status).toBe('done');
    const { error } = await convert(ground.url, await zipOf(14, 4), 'iso');
    expect(error?.details).toMatchObject({ reason: 'input_limit', limit: 'folders within one another', max: 13, received: 14 });
  });
});
