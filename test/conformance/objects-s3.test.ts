/** S3, as MinIO speaks it, held to the suite of object stores, and what is special about it. */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { s3Calls } from '../../src/objects/s3/call.ts';
import { openS3, type S3Store } from '../../src/objects/s3/store.ts';
import type { S3Settings } from '../../src/objects/settings.ts';
import { TooLarge } from '../../src/objects/store.ts';
import { type Minio, startMinio } from '../kit/objects/minio.ts';
import { type ObjectsHarness, objectsSuite, type SmallStore } from './objects.ts';
import { bytesOf, collect, streamOf } from './samples.ts';

const MIB = 1_048_576;
const PART = 5 * MIB;
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

let minio: Minio;
beforeAll(async () => {
  minio = await startMinio();
});
afterAll(() => minio.stop());

async function bucketOf(server: Minio, close: () => Promise<void> = async () => {}): Promise<ObjectsHarness> {
  const settings = server.settings();
  return { store: await openS3(settings), reopen: () => openS3(settings), unfinished: () => server.unfinished(), close };
}

/** A server whose disk is a file system of a few MiB, where one can be mounted. */
function smallServer(): SmallStore | string {
  if (process.getuid?.() !== 0) return 'mounting a small file system needs root';
  return {
    async open() {
      const server = await startMinio({ diskSize: '2m' });
      return bucketOf(server, () => server.stop());
    },
  };
}

objectsSuite('S3', () => bucketOf(minio), smallServer());

describe('a put to S3', () => {
  let store: S3Store;
  beforeEach(async () => {
    store = await openS3(minio.settings());
  });
  const expectNothing = async () => {
    expect(await store.head('jobs/a/in')).toBeUndefined();
    expect(await minio.unfinished()).toEqual([]);
  };

  /** MiB after MiB, and before the thirteenth, when two parts are there, something happens. */
  const long = (then: () => Promise<void> | void, mebibytes = 30): Readable =>
    Readable.from(
      (async function* () {
        for (let sent = 0; sent < mebibytes; sent++) {
          if (sent === 12) await then();
          yield Buffer.alloc(MIB, sent);
        }
      })(),
      { objectMode: false },
    );

  const sizes = {
    'of one part': PART,
    'of one part and a byte': PART + 1,
    'of two parts': 2 * PART,
    'of several parts': 3 * PART + 12_345,
  };
  for (const [which, size] of Object.entries(sizes)) {
    it(`${which} is read back byte by byte`, async () => {
      const bytes = randomBytes(size);
      expect(await store.put('jobs/a/in', streamOf(bytes), size)).toEqual({ sizeBytes: size, sha256: sha256(bytes) });
      expect(sha256(await bytesOf(await store.get('jobs/a/in')))).toBe(sha256(bytes));
      const range = await bytesOf(await store.get('jobs/a/in', { start: PART - 10, end: PART + 9 }));
      expect(range).toEqual(bytes.subarray(PART - 10, PART + 10));
      expect(await minio.unfinished()).toEqual([]);
    });
  }

  it('has parts on the server while it goes on, which is what the next sentences find gone', async () => {
    let parts: readonly string[] = [];
    const look = async () => {
      parts = await minio.unfinished();
    };
    await store.put('jobs/a/in', long(look), 30 * MIB);
    expect(parts.filter((name) => /part\.\d$/.test(name))).toHaveLength(2);
  });

  const ends: Record<string, [(abort: AbortController) => void, RegExp]> = {
    'whose source fails after two parts': [() => Promise.reject(new Error('the client went away')), /the client went away/],
    'that is aborted after two parts': [(abort) => abort.abort(), /abort/i],
  };
  for (const [which, [happen, message]] of Object.entries(ends)) {
    it(`${which} leaves neither object nor upload`, async () => {
      const abort = new AbortController();
      const source = long(() => happen(abort));
      await expect(store.put('jobs/a/in', source, 30 * MIB, abort.signal)).rejects.toThrow(message);
      expect(source.destroyed).toBe(true);
      await expectNothing();
    });
  }

  it('that is too large after two parts leaves neither object nor upload', async () => {
    const refused = await store
      .put(
        'jobs/a/in',
        long(() => {}),
        13 * MIB - 1,
      )
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(TooLarge);
    expect((refused as TooLarge).receivedBytes).toBe(13 * MIB);
    await expectNothing();
  });

  it('of the same key as others ends with one of them, whole, also by parts', async () => {
    const contents = Array.from({ length: 4 }, () => randomBytes(2 * PART + 1));
    await Promise.all(contents.map((bytes) => store.put('jobs/a/in', streamOf(bytes), 3 * PART)));
    expect(contents.map(sha256)).toContain(sha256(await bytesOf(await store.get('jobs/a/in'))));
    expect(await minio.unfinished()).toEqual([]);
  });

  it('of 200 MB takes no more memory than a few parts', async () => {
    const src = new URL('../../src/', import.meta.url).href;
    const text = `
      import { readFileSync } from 'node:fs';
      import { Readable } from 'node:stream';
      import { openS3 } from '${src}objects/s3/store.ts';
      const peak = () => Number(/VmHWM:\\s+(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
      const store = await openS3(JSON.parse(process.env.SETTINGS));
      // The same again and again: what is measured is the put's, not the source's.
      const chunk = Buffer.alloc(65_536, 'x');
      const put = (mebibytes) => {
        const chunks = function* () { for (let n = 0; n < mebibytes * 16; n++) yield chunk; };
        return store.put('jobs/a/in', Readable.from(chunks(), { objectMode: false }), 2 ** 30);
      };
      await put(20);
      const before = peak();
      const { sizeBytes } = await put(200);
      console.log(JSON.stringify({ sizeBytes, grown: peak() - before, peak: peak() }));
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', text], {
      env: { ...process.env, SETTINGS: JSON.stringify(minio.settings()) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const { sizeBytes, grown } = JSON.parse(String(await bytesOf(child.stdout))) as { sizeBytes: number; grown: number };
    expect(sizeBytes).toBe(200 * MIB);
    expect(grown).toBeLessThan(32);
  });
});

describe('a bucket', () => {
  it('of 1,500 objects is scanned over its pages, each once', async () => {
    const store = await openS3(minio.settings());
    const keys = Array.from({ length: 1_500 }, (_, n) => `jobs/${n}/input-0`);
    for (let at = 0; at < keys.length; at += 50)
      await Promise.all(keys.slice(at, at + 50).map((key) => store.put(key, streamOf(Buffer.from('x')), 1)));
    expect((await collect(store.scan('jobs/'))).map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
  });

  it('takes keys of every allowed character', async () => {
    const store = await openS3(minio.settings());
    const keys = ['jobs/.hidden/..x', 'jobs/a..b/-_.', 'jobs/1e5/007', 'jobs/--/AZaz09', 'true', Array(5).fill('k'.repeat(200)).join('/')];
    for (const key of keys) {
      await store.put(key, streamOf(Buffer.from(key)), 2_000);
      expect(await store.head(key)).toMatchObject({ key, sizeBytes: key.length });
      expect(String(await bytesOf(await store.get(key)))).toBe(key);
      expect(await (await fetch(await store.grantRead(key, 60_000))).text()).toBe(key);
      const answer = await fetch(await store.grantWrite(key, 60_000), { method: 'PUT', body: 'again' });
      expect(answer.status).toBe(200);
    }
    expect((await collect(store.scan(''))).map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
    for (const key of keys) await store.delete(key);
    expect(await collect(store.scan(''))).toEqual([]);
  });

  it('is opened by two processes at once, though it must be made', async () => {
    const settings = minio.settings();
    const stores = await Promise.all([openS3(settings), openS3(settings), openS3(settings)]);
    for (const store of stores) expect(await collect(store.scan(''))).toEqual([]);
  });

  const refusals: Record<string, [Partial<S3Settings>, RegExp]> = {
    'with a wrong secret': [{ secretAccessKey: 'canary-secret' }, /secret access key is wrong/],
    'with an access key that does not exist': [{ accessKeyId: 'canary-id' }, /access key does not exist/],
    'whose server is not there': [{ endpoint: 'http://127.0.0.1:1' }, /ECONNREFUSED/],
  };
  for (const [which, [change, why]] of Object.entries(refusals)) {
    it(`${which} is refused by name, and nothing secret is said`, async () => {
      const error = await openS3(minio.settings({ bucket: 'the-bucket', ...change })).catch((thrown: unknown) => thrown);
      expect(String(error)).toMatch(/The S3 bucket "the-bucket"/);
      expect(String(error)).toMatch(why);
      expect(inspect(error)).not.toMatch(/canary|127\.0\.0\.1/);
    });
  }
});

describe('uploads without a put', () => {
  it('are ended by age', async () => {
    const settings = minio.settings();
    const store = await openS3(settings);
    const s3 = s3Calls(settings, 10_000);
    for (const key of ['jobs/a/in', 'jobs/b/in'])
      await s3('begin', (client) => client.initiateNewMultipartUpload(settings.bucket, key, {}));
    expect(await store.abandonUploads(Date.now() - 86_400_000)).toBe(0);
    expect(await minio.unfinished()).toHaveLength(2);
    expect(await store.abandonUploads(Date.now() + 60_000)).toBe(2);
    expect(await minio.unfinished()).toEqual([]);
  });
});
