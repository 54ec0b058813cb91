/** Our own programs as JavaScript: made once, and again when a source changes. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SHARED, stage } from '../../../src/exec/confine/stage.ts';

const root = join(import.meta.dirname, '../../..');
let checkout: string;
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'filemill-stage-'));
  execFileSync('chmod', ['755', checkout]);
  for (const path of ['src/exec/programs', ...SHARED, 'package.json', 'package-lock.json'])
    cpSync(join(root, path), join(checkout, path), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
});
afterEach(() => rmSync(checkout, { recursive: true }));

/** A service that has started, and stays. */
const OTHER = `
  const { CHECKOUT } = process.env;
  const { stage } = await import('./src/exec/confine/stage.ts');
  process.stdout.write((await stage(CHECKOUT, process.execPath, CHECKOUT + '/work')).pathOf('pdf/merge.ts'));
  setInterval(() => {}, 1_000);
`;

const staged = () => stage(checkout, process.execPath, join(checkout, 'work'));
const made = () => readdirSync(join(checkout, '.cache/programs'));

it('is the same for all that start at once, and has no TypeScript left', async () => {
  const paths = await Promise.all([staged(), staged(), staged()].map(async (one) => (await one).pathOf('pdf/merge.ts')));
  expect(new Set(paths).size).toBe(1);
  expect(paths[0]).toMatch(/\/merge\.js$/);
  expect(made()).toHaveLength(1);
  const files = readdirSync(join(checkout, '.cache/programs'), { recursive: true }).map(String);
  expect(files.filter((name) => name.endsWith('.ts'))).toEqual([]);
  expect(files.some((name) => name.endsWith('office.py'))).toBe(true);
});

it('does what the source says, with all that it imports', async () => {
  const { node, pathOf } = await staged();
  // Each imports what it needs before it looks at what it was given.
  for (const kind of readdirSync(join(checkout, 'src/exec/programs'), { withFileTypes: true }).filter((entry) => entry.isDirectory()))
    for (const program of readdirSync(join(kind.parentPath, kind.name)).filter((name) => name.endsWith('.ts'))) {
      const path = pathOf(`${kind.name}/${program}`);
      expect(existsSync(path), path).toBe(true);
      const { stderr } = spawnSync(node, [path], { cwd: checkout, input: '', encoding: 'utf8', timeout: 10_000 });
      expect(stderr, program).not.toMatch(/ERR_MODULE_NOT_FOUND|SyntaxError|ERR_UNKNOWN_FILE_EXTENSION/);
    }
});

it('leaves what another process uses, for as long as that runs', async () => {
  const other = spawn(process.execPath, ['--input-type=module', '-e', OTHER], { cwd: root, env: { ...process.env, CHECKOUT: checkout } });
  try {
    const used = String((await once(other.stdout, 'data'))[0]);
    appendFileSync(join(checkout, 'src/exec/programs/pdf/merge.ts'), '// edited\n');
    await staged();
    expect(existsSync(used)).toBe(true);
    expect(made()).toHaveLength(2);
  } finally {
    other.kill('SIGKILL');
    await once(other, 'exit');
  }
  appendFileSync(join(checkout, 'src/exec/programs/pdf/merge.ts'), '// edited once more\n');
  await staged();
  expect(made()).toHaveLength(1);
});

it('follows an edit, and leaves nothing of what was before', async () => {
  const before = (await staged()).pathOf('pdf/merge.ts');
  appendFileSync(join(checkout, 'src/exec/programs/pdf/merge.ts'), '// edited\n');
  const after = (await staged()).pathOf('pdf/merge.ts');
  expect(after).not.toBe(before);
  expect(made()).toHaveLength(1);
});
