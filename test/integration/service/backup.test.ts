/** `filemill backup` of a service that converts meanwhile, and `filemill restore` of it into a second one, which has every job and file. */
import { execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { chmod, copyFile, link, mkdir, mkdtemp, open, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inputKey } from '../../../src/objects/keys.ts';
import { filesBelow } from '../../kit/exec/left-behind.ts';
import { rounds } from '../../kit/exec/rounds.ts';
import {
  checkout,
  convert,
  endProcess,
  keepVersions,
  type ServiceProcess,
  startProcess,
  untilEnded,
  useKnownVersions,
} from '../../kit/roles/service.ts';

const run = promisify(execFile);
const root = await mkdtemp(join(tmpdir(), 'filemill-backup-'));
await chmod(root, 0o755);
const started: ServiceProcess[] = [];
afterAll(async () => {
  for (const { child } of started) child.kill('SIGKILL');
  await rm(root, { recursive: true, force: true });
});

let folders = 0;
async function newFolder(): Promise<string> {
  const path = join(root, `data-${++folders}`);
  await mkdir(path, { mode: 0o755 });
  return path;
}
async function begin(dataDir: string, settings = {}): Promise<ServiceProcess> {
  await useKnownVersions(dataDir);
  const service = await startProcess(dataDir, { ...settings, worker: { toolchains: ['image'] } }, { LOG_LEVEL: 'warn' });
  await keepVersions(dataDir);
  started.push(service);
  return service;
}

/** @returns its exit code and what it printed */
async function filemill(dataDir: string, ...args: readonly string[]): Promise<{ readonly code: number; readonly said: string }> {
  const env = { PATH: process.env['PATH'], HOME: root, DATA_DIR: dataDir };
  return run(join(checkout, 'scripts/filemill'), args, { env }).then(
    ({ stdout, stderr }) => ({ code: 0, said: stdout + stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, said: stdout + stderr }),
  );
}

/** Such a picture is told from all others by its colour. */
const pictureOf = (index: number): Promise<Buffer> =>
  sharp({ create: { width: 64, height: 48, channels: 3, background: colourOf(index) } })
    .png()
    .toBuffer();
const colourOf = (index: number) => ({ r: (index * 37) % 256, g: (index * 91) % 256, b: (index * 151) % 256 });

async function expectColour(output: Buffer, index: number): Promise<void> {
  const { data } = await sharp(output).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const { r, g, b } = colourOf(index);
  for (const [at, part] of [r, g, b].entries()) expect(Math.abs((data[at] ?? 0) - part)).toBeLessThanOrEqual(6);
}
async function outputOf(url: string, id: string): Promise<Buffer> {
  const response = await fetch(`${url}/api/v1/jobs/${id}/output`);
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Jobs of a folder without a service that lack a file of theirs. */
function jobsWithoutFiles(dataDir: string): readonly string[] {
  const database = new DatabaseSync(join(dataDir, 'filemill.db'), { readOnly: true });
  try {
    return database
      .prepare('SELECT id, record FROM jobs')
      .all()
      .flatMap((row) => {
        const id = String(row['id']);
        const { state, output, sources } = JSON.parse(String(row['record'])) as {
          state: string;
          output?: { key: string };
          sources: { part: number }[];
        };
        const waits = state === 'queued' || state === 'running';
        const keys = waits ? sources.map(({ part }) => inputKey(id, part)) : state === 'done' && output !== undefined ? [output.key] : [];
        return keys.every((key) => existsSync(join(dataDir, 'objects', key))) ? [] : [`${id}: ${state}`];
      });
  } finally {
    database.close();
  }
}

describe('a service under load', () => {
  const SENDERS = 3;
  const BACKUPS = rounds(6, 2);
  /** For all jobs that wait, on a busy machine, ms. */
  const LONG_MS = 240_000;
  let source: string;
  let service: ServiceProcess;
  /** By job: the number of its picture. */
  const accepted = new Map<string, number>();
  let isSending = true;
  const senders: Promise<void>[] = [];
  let slowestMs = 0;

  async function send(from: number): Promise<void> {
    for (let index = from; isSending; index += SENDERS) {
      const began = performance.now();
      const answer = await convert(
        service.url,
        { name: 'flat.png', bytes: await pictureOf(index) },
        index % 2 === 0 ? 'jpg' : 'webp',
        {},
        {
          // Some wait for the end, and some wait in the queue.
          ...(index % 3 === 0 ? {} : { prefer: 'respond-async' }),
        },
      );
      slowestMs = Math.max(slowestMs, performance.now() - began);
      // A queue that is full refuses: the sender goes on.
      if (answer.status === 503) await new Promise((resolve) => setTimeout(resolve, 200));
      else accepted.set(answer.data?.job_id ?? '', index);
      // Some wait, and all come to their end.
      await new Promise((resolve) => setTimeout(resolve, accepted.size < 30 ? 0 : 250));
    }
  }

  beforeAll(async () => {
    source = await newFolder();
    service = await begin(source, { upkeep: { intervalMs: 300 } });
    senders.push(...Array.from({ length: SENDERS }, (_, at) => send(at)));
    while (accepted.size < 30) await new Promise((resolve) => setTimeout(resolve, 100));
  }, 300_000);
  afterAll(async () => {
    isSending = false;
    await Promise.all(senders);
  });

  it(`is backed up ${BACKUPS} times while it converts, and each time no job lacks its file`, async () => {
    for (let turn = 0; turn < BACKUPS; turn++) {
      const before = [...accepted];
      const path = join(root, `load-${turn}.tar`);
      const began = performance.now();
      const { code, said } = await filemill(source, 'backup', path);
      expect([code, said]).toEqual([0, expect.stringMatching(/^backed up \d+ jobs and \d+ files \(.*\) of /)]);
      console.log(`backup ${turn}: ${Math.round(performance.now() - began)} ms, ${said.trim().slice(0, 60)}`);
      const target = await newFolder();
      expect((await filemill(target, 'restore', path)).code).toBe(0);
      expect(jobsWithoutFiles(target)).toEqual([]);
      const database = new DatabaseSync(join(target, 'filemill.db'), { readOnly: true });
      const ids = new Set(
        database
          .prepare('SELECT id FROM jobs')
          .all()
          .map(({ id }) => String(id)),
      );
      database.close();
      expect(before.filter(([id]) => !ids.has(id))).toEqual([]);
    }
    console.log(`slowest request meanwhile: ${Math.round(slowestMs)} ms`);
    expect((await readdir(source)).filter((name) => name.startsWith('backup~'))).toEqual([]);
  }, 240_000);

  it('has every job and its output in a second service, with the same bytes where it was done', async () => {
    const path = join(root, 'second.tar');
    const before = [...accepted].slice(-40);
    expect((await filemill(source, 'backup', path)).code).toBe(0);
    isSending = false;
    await Promise.all(senders);
    const target = await newFolder();
    expect((await filemill(target, 'restore', path)).code).toBe(0);
    const second = await begin(target);
    for (const [id, index] of before) {
      const [first, restored] = [await untilEnded(service.url, id, LONG_MS), await untilEnded(second.url, id, LONG_MS)];
      expect([id, restored.status, restored.data?.status]).toEqual([id, 200, 'done']);
      const output = await outputOf(second.url, id);
      await expectColour(output, index);
      expect(sha256(output)).toBe(restored.data?.output?.sha256);
      expect(sha256(output)).toBe(first.data?.output?.sha256);
    }
    await endProcess(second);
  }, 480_000);

  it('keeps a password of a waiting job readable, with the key that the backup has', async () => {
    const [there, copied] = await Promise.all(
      [source, join(root, `data-${folders}`)].map((folder) => readFile(join(folder, 'secret.key'), 'utf8')),
    );
    expect(copied).toBe(there);
    expect((await stat(join(root, `data-${folders}`, 'secret.key'))).mode & 0o777).toBe(0o600);
  });

  it('is backed up through a pipe too', async () => {
    const target = await newFolder();
    const env = { PATH: process.env['PATH'], HOME: root };
    const program = join(checkout, 'scripts/filemill');
    const { stdout, stderr } = await run('sh', ['-c', `DATA_DIR=${source} ${program} backup - | DATA_DIR=${target} ${program} restore -`], {
      env,
    });
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^restored \d+ jobs/), expect.stringMatching(/^backed up \d+ jobs/)]);
    expect(jobsWithoutFiles(target)).toEqual([]);
  });
});

describe('a backup', () => {
  let source: string;
  const whole = join(root, 'whole.tar');

  beforeAll(async () => {
    source = await newFolder();
    const service = await begin(source);
    const answer = await convert(service.url, { name: 'flat.png', bytes: await pictureOf(5) }, 'jpg');
    expect(answer.data?.status).toBe('done');
    await endProcess(service);
    const { code, said } = await filemill(source, 'backup', whole);
    expect([code, said]).toEqual([0, expect.stringContaining('backed up 1 jobs and 1 files')]);
  });

  it('is readable by its owner alone, and never replaces a file', async () => {
    expect((await stat(whole)).mode & 0o777).toBe(0o600);
    const before = await readFile(whole);
    const { code, said } = await filemill(source, 'backup', whole);
    expect([code, said]).toEqual([1, expect.stringContaining('the file exists already: name another')]);
    expect(await readFile(whole)).toEqual(before);
  });

  it('is not made where there is no service, and leaves no file', async () => {
    const path = join(root, 'none.tar');
    const { code, said } = await filemill(await newFolder(), 'backup', path);
    expect([code, said]).toEqual([1, expect.stringContaining('there is no service in')]);
    expect(existsSync(path)).toBe(false);
  });

  it('leaves nothing where it cannot be written to its end', async () => {
    const path = join(root, 'full.tar');
    // The largest file that this shell's programs may write, KiB: more than the database, and less than the whole.
    const most = Math.floor((await stat(whole)).size / 1024) - 2;
    const env = { PATH: process.env['PATH'], HOME: root, DATA_DIR: source };
    const program = join(checkout, 'scripts/filemill');
    const failed = await run('bash', ['-c', `trap '' XFSZ; ulimit -f ${most}; exec ${program} backup ${path}`], { env }).catch(
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('tar failed') });
    expect([existsSync(path), existsSync(`${path}.part`)]).toEqual([false, false]);
    expect((await readdir(source)).filter((name) => name.startsWith('backup~'))).toEqual([]);
  });

  it('does not touch what another one writes', async () => {
    const path = join(root, 'taken.tar');
    await writeFile(`${path}.part`, 'another');
    const { code, said } = await filemill(source, 'backup', path);
    expect([code, said]).toEqual([1, expect.stringContaining('taken.tar.part cannot be used: another backup writes it, or left it')]);
    expect([existsSync(path), await readFile(`${path}.part`, 'utf8')]).toEqual([false, 'another']);
  });

  it('has a file that the service deletes while it is packed', async () => {
    const large = join(source, 'objects/large');
    await writeFile(large, randomBytes(8 << 20));
    const most = (await stat(join(source, 'filemill.db'))).size + (4 << 20);
    const child = spawn(join(checkout, 'scripts/filemill'), ['backup', '-'], { env: { PATH: process.env['PATH'], DATA_DIR: source } });
    const ended = once(child, 'close');
    let said = '';
    child.stderr.on('data', (text: Buffer) => {
      said += text;
    });
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      size += chunk.length;
      // In its middle: tar waits for the pipe, which holds less.
      if (size > most) rmSync(large, { force: true });
      chunks.push(chunk);
    }
    await ended;
    expect([child.exitCode, said]).toEqual([0, expect.stringMatching(/^backed up 1 jobs and 2 files/)]);
    const path = join(root, 'deleted.tar');
    await writeFile(path, Buffer.concat(chunks));
    const target = await newFolder();
    expect((await filemill(target, 'restore', path)).said).toMatch(/^restored 1 jobs and 2 files/);
  });

  it('says the version of the data, and not of the program', async () => {
    const older = await newFolder();
    expect((await filemill(older, 'restore', whole)).code).toBe(0);
    const database = new DatabaseSync(join(older, 'filemill.db'));
    database.exec('PRAGMA user_version = 0');
    database.close();
    const path = join(root, 'older.tar');
    expect((await filemill(older, 'backup', path)).code).toBe(0);
    const { stdout } = await run('tar', ['-xOf', path, './backup.json']);
    expect(JSON.parse(stdout)).toMatchObject({ dataVersion: 0, jobs: 1, files: 1 });
  });

  it('copies files that lie on another disk, and is not restored through a link', async () => {
    const apart = await newFolder();
    expect((await filemill(apart, 'restore', whole)).code).toBe(0);
    const elsewhere = await mkdtemp('/dev/shm/filemill-backup-');
    try {
      await run('cp', ['-a', join(apart, 'objects/.'), elsewhere]);
      await rm(join(apart, 'objects'), { recursive: true });
      await symlink(elsewhere, join(apart, 'objects'));
      const { code, said } = await filemill(apart, 'backup', join(root, 'apart.tar'));
      expect([code, said]).toEqual([0, expect.stringMatching(/^backed up 1 jobs and 1 files/)]);
      const target = await newFolder();
      await symlink(elsewhere, join(target, 'objects'));
      const refused = await filemill(target, 'restore', whole);
      expect([refused.code, refused.said]).toEqual([1, expect.stringContaining('is a link or another disk')]);
      expect(await filesBelow(elsewhere)).toHaveLength(1);
    } finally {
      await rm(elsewhere, { recursive: true });
    }
  });

  it('removes what a killed one has left', async () => {
    const child = spawn('true');
    await new Promise((resolve) => child.once('exit', resolve));
    const left = join(source, `backup~${child.pid}-0a0b0c0d`);
    await mkdir(join(left, 'objects'), { recursive: true });
    const [object = ''] = await filesBelow(join(source, 'objects'));
    await link(join(source, 'objects', object), join(left, 'objects/one'));
    expect((await filemill(source, 'backup', join(root, 'after.tar'))).code).toBe(0);
    expect(existsSync(left)).toBe(false);
  });

  it('is refused by a folder with data, and by one whose service runs', async () => {
    const there = await filemill(source, 'restore', whole);
    expect([there.code, there.said]).toEqual([1, expect.stringContaining('has data (filemill.db): set DATA_DIR to an empty folder')]);
    const service = await begin(source);
    const running = await filemill(source, 'restore', whole);
    expect([running.code, running.said]).toEqual([1, expect.stringContaining('another filemill is running on')]);
    await endProcess(service);
  });

  it.each<[string, (path: string) => Promise<void>, string]>([
    ['cut off', async (path) => truncate(path, Math.floor((await stat(path)).size / 2)), 'tar failed'],
    ['no archive', (path) => writeFile(path, 'hello'), 'tar failed'],
    [
      'another archive',
      async (path) => void (await run('tar', ['-cf', path, '-C', join(checkout, 'docs'), 'README.md'])),
      'this is no backup of filemill',
    ],
    ['one with a damaged database', (path) => flip(path, 'SQLite format 3'), 'its database is not the one that was backed up'],
    ['one that lacks a file', (path) => without(path, 'objects'), 'the backup is damaged: it has 0 files'],
    [
      'one of a newer filemill',
      (path) => edited(path, (manifest) => ({ ...manifest, version: '9.0.0', dataVersion: 9 })),
      'restore it by filemill 9.0.0 or a newer one',
    ],
  ])('that is %s is refused, and nothing is left of it', async (_, damage, words) => {
    const path = join(root, `damaged-${folders}.tar`);
    await copyFile(whole, path);
    await damage(path);
    const target = await newFolder();
    const { code, said } = await filemill(target, 'restore', path);
    expect([code, said]).toEqual([1, expect.stringContaining(words)]);
    expect((await filesBelow(target)).filter((file) => !file.includes('lock.db'))).toEqual([]);
    // It can be restored there after all.
    expect((await filemill(target, 'restore', whole)).code).toBe(0);
  });

  it.each([['backup'], ['restore']])('%s says how it is used', async (command) => {
    const { code, said } = await filemill(source, command);
    expect([code, said]).toEqual([2, expect.stringContaining(`usage: filemill ${command} <file.tar>`)]);
  });
});

/** Changes a byte in the middle of the page that begins with these words. */
async function flip(path: string, words: string): Promise<void> {
  const at = (await readFile(path)).indexOf(words) + 2_000;
  const file = await open(path, 'r+');
  await file.write(Buffer.from([0xff, 0x00, 0xff]), 0, 3, at);
  await file.close();
}
async function repacked(path: string, change: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(root, 'packed-'));
  await run('tar', ['-xf', path, '-C', folder]);
  await change(folder);
  await run('tar', ['-cf', path, '-C', folder, '.']);
}
const without = (path: string, name: string): Promise<void> =>
  repacked(path, async (folder) => {
    await rm(join(folder, name), { recursive: true });
    await mkdir(join(folder, name));
  });
const edited = (path: string, edit: (manifest: object) => object): Promise<void> =>
  repacked(path, async (folder) => {
    const file = join(folder, 'backup.json');
    await writeFile(file, JSON.stringify(edit(JSON.parse(await readFile(file, 'utf8')) as object)));
  });
