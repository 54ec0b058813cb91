/** What CONTRIBUTING.md shows, done as it is shown, to a copy of the project: an engine, a tool, a field of it, and a backend. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { chmod, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../kit/api/wire.ts';
import { checkout, convertTo, endProcess, readAnswer, type ServiceProcess, startProcess } from '../../kit/roles/service.ts';

const run = promisify(execFile);
const LIMIT_MS = 60_000;

interface Block {
  readonly is: 'diff' | 'file';
  readonly path: string;
  readonly lines: readonly string[];
}

/** Fenced blocks that name a file, wherever they are indented to. */
function blocksIn(markdown: string): readonly Block[] {
  return [...markdown.matchAll(/^( *)```(\w+) (\S+)\n([\s\S]*?)^\1```$/gm)].map(([, indent = '', kind, path = '', text = '']) => ({
    is: kind === 'diff' ? 'diff' : 'file',
    path,
    lines: text
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(indent.length)),
  }));
}

const without = (lines: readonly string[], sign: string): string =>
  lines.flatMap((line) => (line.startsWith(sign) ? [] : [line.slice(1)])).join('\n');

async function apply(root: string, { is, path, lines }: Block): Promise<void> {
  const file = join(root, path);
  if (is === 'file') {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${lines.join('\n')}\n`, { flag: 'wx' });
    return;
  }
  const before = await readFile(file, 'utf8');
  const [from, to] = [without(lines, '+'), without(lines, '-')];
  expect(before.split(from), `${path} has these lines once:\n${from}`).toHaveLength(2);
  await writeFile(
    file,
    before.replace(from, () => to),
  );
}

let root: string;
let blocks: readonly Block[];
let service: ServiceProcess | undefined;
beforeAll(async () => {
  // The same folder in each run: what Node compiled of it is found again.
  root = join(tmpdir(), `filemill-examples-${createHash('sha256').update(checkout).digest('hex').slice(0, 8)}`);
  await rm(root, { recursive: true, force: true });
  await mkdir(root);
  // Converters run as separate users.
  await chmod(root, 0o755);
  const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: checkout,
    maxBuffer: 1 << 24,
  });
  for (const path of stdout.split('\0').filter((name) => name !== ''))
    await cp(join(checkout, path), join(root, path), { verbatimSymlinks: true }).catch((error: NodeJS.ErrnoException) => {
      // Listed, and deleted since.
      if (error.code !== 'ENOENT') throw error;
    });
  // The programs of this checkout would take the place of those that other tests run.
  const kept = (await readdir(join(checkout, '.cache'))).filter((name) => name !== 'programs').map((name) => join('.cache', name));
  await mkdir(join(root, '.cache'));
  for (const shared of ['node_modules', ...kept]) await symlink(join(checkout, shared), join(root, shared));
  blocks = blocksIn(await readFile(join(checkout, 'CONTRIBUTING.md'), 'utf8'));
  for (const block of blocks) await apply(root, block);
  await run('node', ['scripts/generate.ts'], { cwd: root, timeout: LIMIT_MS });
});
afterAll(async () => {
  if (service !== undefined) await endProcess(service);
  await rm(root, { recursive: true, force: true });
});

it('the examples are formatted, linted and typed as the project is', async () => {
  const changed = [...new Set(blocks.map(({ path }) => path).filter((path) => path.endsWith('.ts')))];
  await run('biome', ['check', '--error-on-warnings', ...changed], { cwd: root, timeout: LIMIT_MS });
  await run('tsc', ['-p', '.'], { cwd: root, timeout: LIMIT_MS });
});

it('the backend passes the suite of its family, and what is compared with the engine, the tool and the toolchain is all there', async () => {
  const files = {
    'test/conformance/batches-folder.test.ts': 'the backend',
    'test/unit/web/page-words.test.ts': 'words of the tool and its field',
    'test/unit/catalog/tool-examples.test.ts': 'the example of the field',
    'test/unit/contracts/toolchains.test.ts': 'the toolchain',
  };
  const report = join(root, 'report.json');
  await run('vitest', ['run', '--reporter=json', `--outputFile.json=${report}`, ...Object.keys(files)], {
    cwd: root,
    timeout: 2 * LIMIT_MS,
    maxBuffer: 1 << 26,
    env: { ...process.env, NO_COLOR: '1', TEST_CPU: '' },
  });
  const { testResults } = JSON.parse(await readFile(report, 'utf8')) as {
    testResults: { name: string; assertionResults: { status: string }[] }[];
  };
  for (const [path, what] of Object.entries(files)) {
    const { assertionResults = [] } = testResults.find(({ name }) => name.endsWith(path)) ?? {};
    expect(
      assertionResults.some(({ status }) => status === 'passed'),
      what,
    ).toBe(true);
  }
});

it(
  'the engine draws a diagram, and the tool mirrors a picture',
  async () => {
    const dataDir = join(root, 'data');
    await mkdir(dataDir);
    const worker = { trials: true, toolchains: ['image', 'diagrams'], slots: { image: 1, diagrams: 1 } };
    service = await startProcess(dataDir, { worker }, {}, [join(root, 'scripts/filemill'), 'local']);
    const { lines } = service;
    await eventually(
      () => lines.some((line) => line.includes('every converter has been tried and works')),
      'its trial passes',
      2 * LIMIT_MS,
    );
    const diagram = join(dataDir, 'diagram.dot');
    await writeFile(diagram, 'digraph towns { Oslo -> "Βόλος" [label="by sea"]; "Βόλος" -> Kyoto }\n');
    const { path, job } = await convertTo(service.url, dataDir, diagram, 'svg');
    expect(job.engine?.name).toBe('Graphviz');
    const texts = [...(await readFile(path, 'utf8')).matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
    expect(texts.toSorted()).toEqual(['Kyoto', 'Oslo', 'by sea', 'Βόλος']);
    expect((await readFile(path, 'utf8')).match(/<g id="edge\d+"/g), 'its edges').toHaveLength(2);

    const picture = join(dataDir, 'left-is-red.png');
    const half = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    await sharp({ create: { width: 16, height: 8, channels: 3, background: 'blue' } })
      .composite([{ input: half, left: 0, top: 0 }])
      .png()
      .toFile(picture);
    const { url } = service;
    const mirrored = async (fields: Readonly<Record<string, string>>) => {
      const form = new FormData();
      form.set('file', await openAsBlob(picture), 'left-is-red.png');
      for (const [name, value] of Object.entries(fields)) form.set(name, value);
      const { data, error } = await readAnswer(await fetch(`${url}/api/v1/tools/mirror-image`, { method: 'POST', body: form }));
      if (data?.output === undefined) return error?.message;
      const output = Buffer.from(await (await fetch(data.output.url)).arrayBuffer());
      const pixels = await sharp(output).removeAlpha().raw().toBuffer();
      const [left, right] = [pixels.subarray(0, 3), pixels.subarray(15 * 3, 16 * 3)].map((pixel) => pixel.toString('hex'));
      return { left, right };
    };
    const [red, blue] = ['ff0000', '0000ff'];
    expect(await mirrored({})).toEqual({ left: blue, right: red });
    expect(await mirrored({ mirror: 'below' })).toEqual({ left: red, right: blue });
    expect(await mirrored({ mirror: 'above' })).toContain('one of beside, below');
  },
  4 * LIMIT_MS,
);
