/** Uploads over real stores: what comes in pieces is the file that was sent, though others write too, and nothing else stays. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDirectory } from '../../../src/objects/directory.ts';
import type { ObjectStore } from '../../../src/objects/store.ts';
import { forgetUploads } from '../../../src/upkeep/uploads.ts';
import { partKey } from '../../../src/uploads/keys.ts';
import { uploadLocks } from '../../../src/uploads/locks.ts';
import { uploadSettings } from '../../../src/uploads/settings.ts';
import { openSqliteUploads } from '../../../src/uploads/sqlite.ts';
import { MAX_PARTS, type UploadRecord, type UploadStore } from '../../../src/uploads/store.ts';
import { receivedBytes, type Uploads, uploadsOver } from '../../../src/uploads/uploads.ts';
import { bytesOf, collect, HOUR, jobId, START, signalled, streamOf } from '../../conformance/samples.ts';

const ID = `upl_${jobId(1)}`;
const client = { key: 'one', multiple: 1 };
const MiB = 1 << 20;

let folder: string;
let now: number;
let store: UploadStore;
let objects: ObjectStore;
let uploads: Uploads;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-uploads-'));
  now = START;
  store = openSqliteUploads(join(folder, 'filemill.db'));
  objects = await openDirectory(join(folder, 'objects'));
  uploads = uploadsOver(store, objects, uploadSettings.parse({}), () => now);
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

const begin = (sizeBytes: number, id = ID) => uploads.begin({ id, client, sizeBytes, filename: 'a.bin' });
const kept = async () => (await collect(objects.scan(''))).map(({ key }) => key);
const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe('an upload', () => {
  it('that comes in pieces of any size is the file that was sent', async () => {
    const sent = randomBytes(40 * MiB + 17);
    await begin(sent.length);
    for (const [from, to] of [
      [0, 1],
      [1, 1],
      [1, 35 * MiB],
      [35 * MiB, sent.length],
    ] as const)
      expect(receivedBytes(await uploads.append(ID, from, streamOf(sent.subarray(from, to), 70_001)))).toBe(to);
    const { record, content } = await uploads.open(ID);
    expect(record.parts.length).toBeGreaterThan(4);
    expect(hash(await bytesOf(content))).toBe(hash(sent));
  });

  it('keeps what was stored of a stream that fails', async () => {
    await begin(40 * MiB);
    async function* failing() {
      for (let n = 0; n < 20; n++) yield Buffer.alloc(MiB, n);
      throw new Error('lost');
    }
    await expect(uploads.append(ID, 0, failing())).rejects.toThrow('lost');
    expect(receivedBytes(await uploads.find(ID))).toBe(16 * MiB);
    expect(await kept()).toHaveLength(1);
  });

  it('that two write at once is one of theirs, and the other is told', async () => {
    const other = uploadsOver(store, objects, uploadSettings.parse({}), () => now);
    await begin(6);
    const egressProxy = signalled();
    async function* slow() {
      yield Buffer.from('abc');
      await egressProxy.promise;
      yield Buffer.from('def');
    }
    const first = uploads.append(ID, 0, slow());
    expect((await other.append(ID, 0, streamOf(Buffer.from('uvwxyz')))).finished).toBe(true);
    egressProxy.resolve();
    await expect(first).rejects.toMatchObject({ code: 'UPLOAD_CONFLICT', details: { received_bytes: 6, size_bytes: 6 } });
    expect((await bytesOf((await uploads.open(ID)).content)).toString()).toBe('uvwxyz');
    expect(await kept()).toHaveLength(1);
  });

  it('that is removed while a client writes to it leaves nothing', async () => {
    await begin(6);
    const egressProxy = signalled();
    async function* slow() {
      yield Buffer.from('abc');
      await egressProxy.promise;
    }
    const writing = uploads.append(ID, 0, slow());
    await uploads.remove(ID);
    egressProxy.resolve();
    await expect(writing).rejects.toMatchObject({ code: 'UPLOAD_NOT_FOUND' });
    expect(await kept()).toEqual([]);
  });

  it('takes no byte beyond its size', async () => {
    await begin(5);
    await expect(uploads.append(ID, 0, streamOf(Buffer.alloc(6)))).rejects.toMatchObject({ code: 'FILE_TOO_LARGE' });
    expect(await kept()).toEqual([]);
  });

  it.each([
    ['1 byte', 1],
    ['40 kB', 40_000],
  ])('may come in more pieces of %s than it may have parts', async (_, bytes) => {
    const pieces = MAX_PARTS + 100;
    const sent = randomBytes(pieces * bytes);
    await begin(sent.length);
    let most = 0;
    for (let from = 0; from < sent.length; from += bytes) {
      const { parts } = await uploads.append(ID, from, streamOf(sent.subarray(from, from + bytes)));
      most = Math.max(most, parts.length);
    }
    const { record, content } = await uploads.open(ID);
    expect(hash(await bytesOf(content))).toBe(hash(sent));
    expect(most).toBeLessThan(60);
    expect((await kept()).sort()).toEqual(record.parts.map(([name]) => partKey(ID, name)).sort());
  });

  it.each([
    [
      'changed',
      'UPLOAD_CONFLICT',
      async (_id: string, revision: number, record: UploadRecord) => void (await store.update(record, revision)),
    ],
    ['removed', 'UPLOAD_NOT_FOUND', (id: string) => store.remove(id)],
  ])('that was %s as it was completed is refused, and no error of ours', async (_what, code, interfere) => {
    const record = await begin(5);
    let interfered = false;
    const racing: UploadStore = {
      ...store,
      async get(id) {
        const found = await store.get(id);
        if (!interfered) await interfere(id, found?.revision ?? 0, record);
        interfered = true;
        return found;
      },
    };
    const completing = uploadsOver(racing, objects, uploadSettings.parse({}), () => now).complete(ID, 'a.bin', 5);
    await expect(completing).rejects.toMatchObject({ code });
  });

  it('is not read before it is whole', async () => {
    await begin(6);
    await uploads.append(ID, 0, streamOf(Buffer.from('abc')));
    await expect(uploads.open(ID)).rejects.toMatchObject({ code: 'UPLOAD_CONFLICT', details: { received_bytes: 3 } });
  });

  it('lives for an hour after each byte, and for two after the last', async () => {
    await begin(2);
    now += HOUR - 1;
    await uploads.append(ID, 0, streamOf(Buffer.from('a')));
    now += HOUR - 1;
    await uploads.append(ID, 1, streamOf(Buffer.from('b')));
    now += 2 * HOUR - 1;
    expect((await uploads.find(ID)).finished).toBe(true);
    now += 1;
    await expect(uploads.find(ID)).rejects.toMatchObject({ code: 'UPLOAD_NOT_FOUND', details: { upload_id: ID } });
  });

  it('knows nothing of ids that are none', async () => {
    for (const id of ['', 'upl_', `upl_${'A'.repeat(32)}`, `${ID}/..`, "upl_' OR 1=1", '%'.repeat(500)])
      await expect(uploads.find(id)).rejects.toMatchObject({ code: 'UPLOAD_NOT_FOUND' });
  });
});

describe('upkeep', () => {
  const log = { warn: () => {} };
  const run = (aloneSince?: number) => forgetUploads({ uploads: store, objects, clock: () => now, log, aloneSince, maxOrphanShare: 0.25 });

  it('removes what has expired with all its pieces, and nothing else', async () => {
    await begin(6);
    await uploads.append(ID, 0, streamOf(Buffer.from('abc')));
    const other = `upl_${jobId(2)}`;
    now += HOUR / 2;
    await begin(1, other);
    await uploads.append(other, 0, streamOf(Buffer.from('a')));
    now += HOUR / 2;
    expect(await run()).toEqual({ expired: 1, orphaned: 0 });
    expect(await kept()).toEqual([expect.stringContaining(other)]);
    expect(await store.get(ID)).toBeUndefined();
    expect(await run()).toEqual({ expired: 0, orphaned: 0 });
  });

  it('removes pieces that no record knows once they are old, or from before this process', async () => {
    const written = Date.now();
    now = written;
    await objects.put(partKey(ID, '0-a'), streamOf(Buffer.from('a')), 1);
    expect(await run()).toEqual({ expired: 0, orphaned: 0 });
    now = written + 4 * HOUR;
    expect(await run()).toEqual({ expired: 0, orphaned: 1 });
    await objects.put(partKey(ID, '0-a'), streamOf(Buffer.from('a')), 1);
    now = Date.now();
    expect(await run(now + 1_000)).toEqual({ expired: 0, orphaned: 1 });
    expect(await kept()).toEqual([]);
  });

  it('removes none where the records seem to be what is missing', async () => {
    for (let n = 0; n < 30; n++) await objects.put(partKey(`upl_${jobId(n)}`, '0-a'), streamOf(Buffer.from('a')), 1);
    now = Date.now() + 10 * HOUR;
    expect(await run()).toEqual({ expired: 0, orphaned: 0 });
    expect(await kept()).toHaveLength(30);
  });

  it('leaves objects of jobs alone', async () => {
    await objects.put(`jobs/${jobId(1)}/input-0`, streamOf(Buffer.from('a')), 1);
    now = Date.now() + 10 * HOUR;
    expect(await run()).toEqual({ expired: 0, orphaned: 0 });
    expect(await kept()).toHaveLength(1);
  });
});

describe('the lock of an upload', () => {
  it('asks its holder to give way, and is had by one at a time', async () => {
    const locks = uploadLocks();
    const never = new AbortController().signal;
    let holding = 0;
    let most = 0;
    const take = async () => {
      const lock = locks.newLock(ID);
      const asked = signalled();
      await lock.lock(never, asked.resolve);
      most = Math.max(most, ++holding);
      await Promise.race([asked.promise, new Promise(setImmediate)]);
      holding--;
      await lock.unlock();
    };
    await Promise.all(Array.from({ length: 10 }, take));
    expect(most).toBe(1);
  });

  it('is not waited for by a client that has gone', async () => {
    const locks = uploadLocks();
    await locks.newLock(ID).lock(new AbortController().signal, () => {});
    await expect(locks.newLock(ID).lock(AbortSignal.abort(), () => {})).rejects.toMatchObject({ code: 'UPLOAD_CONFLICT' });
    await locks.newLock(`upl_${jobId(2)}`).lock(AbortSignal.abort(), () => {});
  });
});
