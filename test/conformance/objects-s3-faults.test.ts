/** S3 that dies, freezes or runs full, over TLS and by the bucket's own host name: what a store of objects and a worker's transfers make of it. */
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import dns from 'node:dns';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, type Transform } from 'node:stream';
import tls from 'node:tls';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openS3, type S3Limits } from '../../src/objects/s3/store.ts';
import { StoreFull } from '../../src/objects/store.ts';
import { download, upload } from '../../src/objects/transfer.ts';
import { type Minio, type MinioOptions, startMinio } from '../kit/objects/minio.ts';
import { bytesOf, collect, streamOf } from './samples.ts';

const MIB = 1_048_576;
const HASTY: S3Limits = { callMs: 1_000, stallMs: 1_000 };
const never = new AbortController().signal;
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const failure = (promise: Promise<unknown>): Promise<unknown> => promise.then(() => undefined).catch((error: unknown) => error);

let cleanups: (() => unknown)[];
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-s3-'));
  cleanups = [() => rm(folder, { recursive: true })];
});
afterEach(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
});

async function aMinio(options?: MinioOptions): Promise<Minio> {
  const minio = await startMinio(options);
  cleanups.push(() => minio.stop());
  return minio;
}

/** MiB after MiB; before the thirteenth something happens to the server. */
const long = (then: () => Promise<void> | void): Readable =>
  Readable.from(
    (async function* () {
      for (let sent = 0; sent < 30; sent++) {
        if (sent === 12) await then();
        yield Buffer.alloc(MIB, sent);
      }
    })(),
    { objectMode: false },
  );

describe('a server', () => {
  it('that is killed in the middle of a put makes it fail, and has nothing of it after its restart', async () => {
    const minio = await aMinio();
    const settings = minio.settings();
    const store = await openS3(settings);
    const error = await failure(store.put('jobs/a/in', long(minio.kill), 30 * MIB));
    expect(String(error)).toMatch(/object store could not be reached to take a part: ECONN/);
    expect(inspect(error), 'no address, bucket or key').not.toMatch(new RegExp(`127.0.0.1|${settings.bucket}|jobs/a`));
    await minio.restart();
    expect(await store.head('jobs/a/in')).toBeUndefined();
    expect(await collect(store.scan(''))).toEqual([]);
    expect(await minio.unfinished()).not.toEqual([]);
    expect(await store.abandonUploads(0)).toBe(1);
    expect(await minio.unfinished()).toEqual([]);
    expect(
      await store.put(
        'jobs/a/in',
        long(() => {}),
        30 * MIB,
      ),
    ).toMatchObject({ sizeBytes: 30 * MIB });
  });

  it('that is killed while an object is read makes the reading fail', async () => {
    const minio = await aMinio();
    const store = await openS3(minio.settings());
    await store.put('jobs/a/in', streamOf(Buffer.alloc(40 * MIB), MIB), 40 * MIB);
    const stream = await store.get('jobs/a/in');
    await minio.kill();
    await expect(bytesOf(stream)).rejects.toThrow();
  });

  it('that freezes is not waited for, whatever was asked of it', async () => {
    const minio = await aMinio();
    const store = await openS3(minio.settings(), HASTY);
    await store.put('jobs/a/in', streamOf(Buffer.alloc(40 * MIB), MIB), 40 * MIB);
    const stream = await store.get('jobs/a/in');
    process.kill(minio.pid, 'SIGSTOP');
    cleanups.push(() => void process.kill(minio.pid, 'SIGCONT'));
    await expect(bytesOf(stream)).rejects.toThrow(/sent nothing for 1 s/);
    const asked = [store.head('jobs/a/in'), store.get('jobs/a/in'), store.delete('jobs/a/in'), collect(store.scan(''))];
    for (const answer of await Promise.allSettled([...asked, store.put('jobs/b/in', streamOf(Buffer.of(1)), 1)]))
      expect(String(answer.status === 'rejected' && answer.reason)).toMatch(/did not .* within 1 s/);
  });

  it('that freezes in the middle of a put has nothing of it once it goes on and is swept', async () => {
    const minio = await aMinio();
    const store = await openS3(minio.settings(), HASTY);
    const freeze = () => void process.kill(minio.pid, 'SIGSTOP');
    await expect(store.put('jobs/a/in', long(freeze), 30 * MIB)).rejects.toThrow(/within 1 s/);
    process.kill(minio.pid, 'SIGCONT');
    await store.abandonUploads(0);
    expect(await store.head('jobs/a/in')).toBeUndefined();
    expect(await minio.unfinished()).toEqual([]);
  });

  it('that freezes does not keep a put from being aborted', async () => {
    const minio = await aMinio();
    const store = await openS3(minio.settings(), HASTY);
    const abort = new AbortController();
    const source = Readable.from(
      (async function* () {
        for (let sent = 0; sent < 30; sent++) {
          if (sent === 12) process.kill(minio.pid, 'SIGSTOP');
          // Read ahead, while the third part is on its way and will not be answered.
          if (sent === 16) setImmediate(() => abort.abort());
          yield Buffer.alloc(MIB, sent);
        }
      })(),
      { objectMode: false },
    );
    await expect(store.put('jobs/a/in', source, 30 * MIB, abort.signal)).rejects.toThrow(/abort/i);
    process.kill(minio.pid, 'SIGCONT');
    await store.abandonUploads(0);
    expect(await minio.unfinished()).toEqual([]);
  });

  // The second is smaller than a stream's buffer: all of it arrives before it is read.
  const late: Record<string, [sizeBytes: number, soFar: (stream: Transform) => boolean]> = {
    'that takes its time': [20 * MIB, (stream) => stream.writableNeedDrain],
    'that begins when all has come': [10_000, (stream) => stream.writableEnded],
  };
  for (const [which, [sizeBytes, soFar]] of Object.entries(late)) {
    it(`is not blamed for a reader ${which}`, async () => {
      const bytes = Buffer.alloc(sizeBytes);
      const store = await openS3((await aMinio()).settings());
      await store.put('jobs/a/in', streamOf(bytes), sizeBytes);
      // Its clock goes on: a request that has to be repeated waits for its turn.
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
      cleanups.push(() => void vi.useRealTimers());
      const stream = await store.get('jobs/a/in');
      while (!soFar(stream as Transform)) await new Promise(setImmediate);
      vi.advanceTimersByTime(3_600_000);
      expect(await bytesOf(stream)).toHaveLength(sizeBytes);
    });
  }
});

describe('a transfer by URL', () => {
  const file = (name: string) => join(folder, name);

  it('carries files larger than a part both ways, with size and hash', async () => {
    const store = await openS3((await aMinio()).settings());
    const bytes = randomBytes(12 * MIB + 1);
    await writeFile(file('out'), bytes);
    const written = await upload(file('out'), await store.grantWrite('jobs/a/out', 60_000), bytes.length, never);
    expect(written).toEqual({ sizeBytes: bytes.length, sha256: sha256(bytes) });
    await download(await store.grantRead('jobs/a/out', 60_000), file('in'), bytes.length, never);
    expect(sha256(await readFile(file('in')))).toBe(sha256(bytes));
  });

  it('whose grant has expired is refused both ways, and says nothing of the URL', async () => {
    const store = await openS3((await aMinio()).settings());
    await store.put('jobs/a/in', streamOf(Buffer.of(1)), 1);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
    cleanups.push(() => void vi.useRealTimers());
    const [read, write] = [await store.grantRead('jobs/a/in', 60_000), await store.grantWrite('jobs/a/out', 60_000)];
    vi.useRealTimers();
    await writeFile(file('out'), 'x');
    const errors = [await failure(download(read, file('in'), 1, never)), await failure(upload(file('out'), write, 1, never))];
    for (const error of errors) {
      expect(String(error)).toMatch(/answered 403/);
      expect(inspect(error)).not.toMatch(/X-Amz|127\.0\.0\.1/);
    }
    expect(await readdir(folder)).toEqual(['out']);
    expect(await store.head('jobs/a/out')).toBeUndefined();
  });

  it('takes a grant that was signed by a clock which is wrong by 25 minutes', async () => {
    const store = await openS3((await aMinio()).settings());
    await store.put('jobs/a/in', streamOf(Buffer.of(1)), 1);
    for (const [index, minutes] of [25, -25].entries()) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + minutes * 60_000 });
      cleanups.push(() => void vi.useRealTimers());
      const [read, write] = [await store.grantRead('jobs/a/in', 60_000 * 60), await store.grantWrite('jobs/a/out', 60_000 * 60)];
      vi.useRealTimers();
      await download(read, file(`in-${index}`), 1, never);
      await upload(file(`in-${index}`), write, 1, never);
    }
  });

  it('that grants reading grants neither writing nor another object', async () => {
    const store = await openS3((await aMinio()).settings());
    for (const key of ['jobs/a/in', 'jobs/b/in']) await store.put(key, streamOf(Buffer.from(key)), 99);
    const read = await store.grantRead('jobs/a/in', 60_000);
    await writeFile(file('out'), 'x');
    await expect(upload(file('out'), read, 1, never)).rejects.toThrow(/answered 403/);
    await expect(download(read.replace('jobs/a/in', 'jobs/b/in'), file('in'), 99, never)).rejects.toThrow(/answered 403/);
  });

  it.skipIf(process.getuid?.() !== 0)('to a server without room says so, and so does a put by parts', async () => {
    const minio = await aMinio({ diskSize: '16m' });
    const store = await openS3(minio.settings());
    await writeFile(file('out'), randomBytes(20 * MIB));
    await expect(upload(file('out'), await store.grantWrite('jobs/a/out', 60_000), 99 * MIB, never)).rejects.toThrow(StoreFull);
    await expect(store.put('jobs/a/in', streamOf(randomBytes(25 * MIB), MIB), 99 * MIB)).rejects.toThrow(StoreFull);
    expect(await collect(store.scan(''))).toEqual([]);
    expect(await minio.unfinished()).toEqual([]);
    expect(await store.put('jobs/a/in', streamOf(Buffer.of(1)), 1)).toMatchObject({ sizeBytes: 1 });
  });
});

it('speaks TLS, to the bucket by its own host name, in a separate region', async () => {
  const names = ['-subj', '/CN=s3.test', '-addext', 'subjectAltName=DNS:s3.test,DNS:*.s3.test,IP:127.0.0.1'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', join(folder, 'private.key')];
  execFileSync('openssl', ['req', '-x509', ...key, '-days', '2', ...names, '-out', join(folder, 'public.crt')], { stdio: 'ignore' });
  const trusted = tls.getCACertificates();
  tls.setDefaultCACertificates([...trusted, await readFile(join(folder, 'public.crt'), 'utf8')]);
  cleanups.push(() => tls.setDefaultCACertificates(trusted));
  const minio = await aMinio({ certificates: folder, environment: { MINIO_DOMAIN: 's3.test', MINIO_REGION: 'eu-south-7' } });
  const asked = new Set<string>();
  // The name server of this test: everything is here.
  const lookup = vi.spyOn(dns, 'lookup').mockImplementation(((
    name: string,
    options: dns.LookupOptions,
    found: (...answer: unknown[]) => void,
  ) => {
    asked.add(name);
    process.nextTick(() => (options.all ? found(null, [{ address: '127.0.0.1', family: 4 }]) : found(null, '127.0.0.1', 4)));
  }) as typeof dns.lookup);
  cleanups.push(() => void lookup.mockRestore());

  const endpoint = minio.endpoint.replace('127.0.0.1', 's3.test');
  const settings = minio.settings({ endpoint, region: 'eu-south-7', pathStyle: false });
  const store = await openS3(settings);
  const bytes = randomBytes(6 * MIB);
  await store.put('jobs/a/in', streamOf(bytes), 6 * MIB);
  expect(sha256(await bytesOf(await store.get('jobs/a/in')))).toBe(sha256(bytes));
  const read = await store.grantRead('jobs/a/in', 60_000);
  expect(new URL(read).hostname).toBe(`${settings.bucket}.s3.test`);
  await download(read, join(folder, 'in'), 6 * MIB, never);
  await upload(join(folder, 'in'), await store.grantWrite('jobs/a/out', 60_000), 6 * MIB, never);
  expect((await collect(store.scan('jobs/'))).map(({ sizeBytes }) => sizeBytes)).toEqual([6 * MIB, 6 * MIB]);
  expect([...asked]).toEqual([`${settings.bucket}.s3.test`]);
  await expect(openS3(minio.settings({ endpoint, pathStyle: false }))).rejects.toThrow(/another region/);
});
