/** A data folder moves between releases: what the one before wrote is taken over, and what a newer one wrote is refused, untouched. */
import { execFile, execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDirectory } from '../../../src/objects/directory.ts';
import { inputKey, outputKey } from '../../../src/objects/keys.ts';
import { DATA_VERSION } from '../../../src/sqlite/data-version.ts';
import { anOrder, aRecord, jobId } from '../../conformance/samples.ts';
import {
  checkout,
  convert,
  endProcess,
  readAnswer,
  type ServiceProcess,
  spawnService,
  startProcess,
  untilEnded,
  useKnownVersions,
} from '../../kit/roles/service.ts';
import { checkOut, commitBefore, type VersionBefore } from '../../kit/roles/version-before.ts';

const run = promisify(execFile);
const root = await mkdtemp(join(tmpdir(), 'filemill-upgrade-'));
await chmod(root, 0o755);
const started: ServiceProcess[] = [];
afterAll(async () => {
  for (const { child } of started) child.kill('SIGKILL');
  await rm(root, { recursive: true, force: true });
});

/** Fewer converters whose versions are read. */
const IMAGE = { worker: { toolchains: ['image'] } };

let folders = 0;
async function newFolder(): Promise<string> {
  const path = join(root, `data-${++folders}`);
  await mkdir(path, { mode: 0o755 });
  return path;
}
async function begin(dataDir: string, command?: readonly string[]): Promise<ServiceProcess> {
  await useKnownVersions(dataDir);
  const service = await startProcess(dataDir, IMAGE, {}, command);
  started.push(service);
  return service;
}
const png = await sharp({ create: { width: 40, height: 30, channels: 3, background: '#c02040' } })
  .png()
  .toBuffer();
const picture = { name: 'red.png', bytes: png };

function inDatabase<T>(dataDir: string, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(join(dataDir, 'filemill.db'));
  try {
    return work(database);
  } finally {
    database.close();
  }
}
const versionIn = (dataDir: string): number =>
  inDatabase(dataDir, (database) => Number(database.prepare('PRAGMA user_version').get()?.['user_version']));

async function expectDone(url: string, id: string): Promise<void> {
  const { status, data } = await untilEnded(url, id);
  expect([status, data?.status]).toEqual([200, 'done']);
  const output = Buffer.from(await (await fetch(`${url}/api/v1/jobs/${id}/output`)).arrayBuffer());
  expect(await sharp(output).metadata()).toMatchObject({ width: 40, height: 30 });
}

/** The tables as filemill made them before data had a version: without the columns that came later. */
const FIRST_TABLES = `
  CREATE TABLE jobs (revision INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, record TEXT NOT NULL) STRICT;
  CREATE TABLE orders (number INTEGER PRIMARY KEY AUTOINCREMENT, pool TEXT NOT NULL, job_id TEXT NOT NULL, lane TEXT NOT NULL, body TEXT NOT NULL,
    published_at INTEGER NOT NULL, visible_at INTEGER NOT NULL, token TEXT, deliveries INTEGER NOT NULL DEFAULT 0, UNIQUE (pool, job_id)) STRICT;
`;

describe('data from before there were versions', () => {
  it('is taken over: what was done is served, and what waited is done', async () => {
    const dataDir = await newFolder();
    const [done, waiting] = [jobId(0xd0e), jobId(0xa17)];
    const now = Date.now();
    const times = { createdAt: now, expiresAt: now + 7_200_000 };
    const jpg = await sharp(png).jpeg().toBuffer();
    const objects = await openDirectory(join(dataDir, 'objects'));
    const { sha256, sizeBytes } = await objects.put(outputKey(done, 'first'), Readable.from([jpg], { objectMode: false }), 1e6);
    await objects.put(inputKey(waiting), Readable.from([png], { objectMode: false }), 1e6);
    const output = { key: outputKey(done, 'first'), filename: 'red-filemill.jpg', sizeBytes, contentType: 'image/jpeg', sha256, files: 1 };
    const sources = [{ part: 0, sizeBytes: png.length, format: 'png' }];
    const records = [
      aRecord({ ...times, id: done, state: 'done', endedAt: now, attempts: 1, attempt: 'first', sources, output }),
      aRecord({ ...times, id: waiting, sources }),
    ];
    inDatabase(dataDir, (database) => {
      database.exec(FIRST_TABLES);
      for (const record of records) database.prepare('INSERT INTO jobs (id, record) VALUES (?, ?)').run(record.id, JSON.stringify(record));
      const order = JSON.stringify(anOrder({ jobId: waiting }));
      database
        .prepare('INSERT INTO orders (pool, job_id, lane, body, published_at, visible_at) VALUES (?, ?, ?, ?, ?, ?)')
        .run('image', waiting, 'interactive', order, now, now);
    });
    expect(versionIn(dataDir)).toBe(0);
    const service = await begin(dataDir);
    await expectDone(service.url, done);
    await expectDone(service.url, waiting);
    await endProcess(service);
    expect(versionIn(dataDir)).toBe(DATA_VERSION);
  });
});

/** The latest release before this commit; where none is tagged, the commit before. */
function releaseBefore(): string | undefined {
  try {
    return execFileSync('git', ['describe', '--tags', '--match', 'v[0-9]*', '--abbrev=0', 'HEAD~1'], {
      cwd: checkout,
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim();
  } catch {
    return commitBefore();
  }
}
const before = releaseBefore();

describe.skipIf(before === undefined)(`the release before (${before})`, () => {
  let release: VersionBefore;
  const dataDir = newFolder();
  const ids: string[] = [];
  /** The version of its data; 0 where it knew none. */
  let dataVersion: number;

  beforeAll(async () => {
    release = await checkOut(before ?? '');
    const module = pathToFileURL(join(release.folder, 'src/sqlite/data-version.ts')).href;
    dataVersion = await run(process.execPath, ['--input-type=module', '-e', `console.log((await import('${module}')).DATA_VERSION)`]).then(
      ({ stdout }) => Number(stdout),
      () => 0,
    );
  }, 180_000);
  afterAll(() => release?.remove());

  it('leaves data that this one takes over: no job is lost', async () => {
    const old = await begin(await dataDir, [release.program, 'local']);
    ids.push((await convert(old.url, picture, 'jpg')).data?.job_id ?? '');
    for (let count = 0; count < 6; count++)
      ids.push((await convert(old.url, picture, 'webp', {}, { prefer: 'respond-async' })).data?.job_id ?? '');
    await endProcess(old);
    const service = await begin(await dataDir);
    for (const id of ids) await expectDone(service.url, id);
    ids.push((await convert(service.url, picture, 'avif')).data?.job_id ?? '');
    await endProcess(service);
    expect(versionIn(await dataDir)).toBe(DATA_VERSION);
  }, 180_000);

  it('reads what this one wrote, or refuses it with a sentence', async () => {
    const { child, lines, serving, ended } = await spawnService(await dataDir, IMAGE, {}, [release.program, 'local']);
    const url = await serving;
    if (dataVersion > 0 && dataVersion < DATA_VERSION) {
      await ended;
      expect([child.exitCode, lines.join('\n')]).toEqual([1, expect.stringContaining('filemill cannot start: ')]);
      return;
    }
    for (const id of ids) await expectDone(url ?? '', id);
    child.kill('SIGTERM');
    await ended;
  }, 180_000);
});

describe('data of a newer filemill', () => {
  const dataDir = newFolder();
  let id: string;
  beforeAll(async () => {
    const service = await begin(await dataDir);
    id = (await convert(service.url, picture, 'jpg')).data?.job_id ?? '';
    await endProcess(service);
    inDatabase(await dataDir, (database) => {
      database.prepare('INSERT INTO programs (version, data_version, started_at) VALUES (?, ?, ?)').run('9.0.0', 9, Date.now());
      database.exec('PRAGMA user_version = 9');
    });
  });

  it('is refused at the start, with what to do, and stays as it was', async () => {
    const database = await readFile(join(await dataDir, 'filemill.db'));
    const { child, lines, serving, ended } = await spawnService(await dataDir);
    expect(await serving).toBeUndefined();
    await ended;
    expect(child.exitCode).toBe(1);
    expect(lines.filter((line) => line.startsWith('filemill cannot start'))).toEqual([
      expect.stringMatching(
        /was written by filemill 9\.0\.0 \(version 9 of the data\), and this one, \S+, reads versions up to 1: start filemill 9\.0\.0 or a newer one, restore a backup/,
      ),
    ]);
    expect(await readFile(join(await dataDir, 'filemill.db'))).toEqual(database);
  });

  it.each([['limits'], ['backup', join(root, 'newer.tar')]])('is refused by filemill %s', async (...args) => {
    const env = { PATH: process.env['PATH'], HOME: root, DATA_DIR: await dataDir };
    await expect(run(join(checkout, 'scripts/filemill'), args, { env })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('was written by filemill 9.0.0'),
    });
  });

  it('is served by the filemill that knows it', async () => {
    inDatabase(await dataDir, (database) =>
      database.exec(`DELETE FROM programs WHERE data_version = 9; PRAGMA user_version = ${DATA_VERSION}`),
    );
    const service = await begin(await dataDir);
    expect((await readAnswer(await fetch(`${service.url}/api/v1/jobs/${id}`))).data?.status).toBe('done');
    await endProcess(service);
  });
});
