/** What every store of objects must hold to, whatever keeps it. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Missing, type ObjectStore, StoreFull, TooLarge } from '../../src/objects/store.ts';
import { download, upload } from '../../src/objects/transfer.ts';
import { zipStream } from '../../src/objects/zip.ts';
import { descriptorsOf, excess, timers } from '../kit/exec/level.ts';
import { bytesOf, collect, streamOf } from './samples.ts';

export interface ObjectsHarness {
  readonly store: ObjectStore;
  /** A second process's view of the same store; the first was not closed, as after a crash. */
  reopen(): Promise<ObjectStore>;
  /** Names of whatever an unfinished write has left: parts, temporary files. */
  unfinished(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface SmallStore {
  /** With room for about 1 MiB. */
  open(): Promise<ObjectsHarness>;
}

const MIB = 1_048_576;
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** @param small a store that really runs full, or the reason why there can be none here */
export function objectsSuite(name: string, open: () => Promise<ObjectsHarness>, small: SmallStore | string): void {
  describe(`objects in ${name}`, () => {
    let harness: ObjectsHarness;
    let store: ObjectStore;
    beforeEach(async () => {
      harness = await open();
      store = harness.store;
    });
    afterEach(() => harness.close());

    const put = (key: string, content: Uint8Array | string, maxBytes = MIB) => store.put(key, streamOf(Buffer.from(content)), maxBytes);
    const contentOf = async (key: string, from: ObjectStore = store) => bytesOf(await from.get(key));
    const expectNothing = async (key: string) => {
      expect(await store.head(key)).toBeUndefined();
      await expect(store.get(key)).rejects.toThrow(Missing);
      expect(await harness.unfinished()).toEqual([]);
    };

    describe('an object', () => {
      it('is read as it was written, by every process', async () => {
        const bytes = randomBytes(300_000);
        expect(await put('jobs/a/input', bytes)).toEqual({ sizeBytes: 300_000, sha256: sha256(bytes) });
        expect(await contentOf('jobs/a/input')).toEqual(bytes);
        const other = await harness.reopen();
        expect(await contentOf('jobs/a/input', other)).toEqual(bytes);
        expect(await other.head('jobs/a/input')).toMatchObject({ key: 'jobs/a/input', sizeBytes: 300_000 });
        expect(await harness.unfinished()).toEqual([]);
      });

      it('may be empty', async () => {
        expect(await put('jobs/a/empty', '')).toEqual({ sizeBytes: 0, sha256: sha256(Buffer.of()) });
        expect(await store.head('jobs/a/empty')).toMatchObject({ sizeBytes: 0 });
        expect(await contentOf('jobs/a/empty')).toHaveLength(0);
      });

      it('knows when it was written', async () => {
        await put('jobs/a/input', 'x');
        const age = Date.now() - ((await store.head('jobs/a/input'))?.modifiedAt ?? 0);
        expect(Math.abs(age)).toBeLessThan(60_000);
      });

      it('that is not there is missing, also where its key is a folder of others', async () => {
        await expectNothing('jobs/none/input');
        await put('jobs/a/input', 'x');
        await expectNothing('jobs/a');
      });

      it('is deleted with a thousand others at once, and nothing else is', async () => {
        const { store } = harness;
        const doomed = Array.from({ length: 1_100 }, (_, index) => `jobs/${index}/in`);
        for (let from = 0; from < doomed.length; from += 50)
          await Promise.all(doomed.slice(from, from + 50).map((key) => store.put(key, streamOf(Buffer.of(1)), 1)));
        await store.put('jobs/kept/in', streamOf(Buffer.of(1)), 1);
        await Promise.all([...doomed, 'jobs/missing/in'].map((key) => store.delete(key)));
        expect((await collect(store.scan(''))).map(({ key }) => key)).toEqual(['jobs/kept/in']);
      });

      it('is deleted, and deleting it again is no error', async () => {
        await put('jobs/a/input', 'x');
        await store.delete('jobs/a/input');
        await store.delete('jobs/a/input');
        await expectNothing('jobs/a/input');
        await put('jobs/a/input', 'y');
        expect(String(await contentOf('jobs/a/input'))).toBe('y');
      });
    });

    describe('a range', () => {
      const cases: Record<string, [number, number, string]> = {
        'of the first byte': [0, 0, '0'],
        'in the middle': [3, 6, '3456'],
        'of the last byte': [9, 9, '9'],
        'of everything': [0, 9, '0123456789'],
        'beyond the end is cut there': [8, 100, '89'],
      };
      for (const [which, [start, end, expected]] of Object.entries(cases)) {
        it(which, async () => {
          await put('jobs/a/digits', '0123456789');
          expect(String(await bytesOf(await store.get('jobs/a/digits', { start, end })))).toBe(expected);
        });
      }
    });

    describe('a stream that was got holds nothing any more', () => {
      const held = async () => ({ ...(await descriptorsOf()), timers: timers() });
      const fail = (stream: Readable) => stream.on('error', () => {}).destroy(new Error('the reader has gone'));
      const cases: Record<string, (stream: Readable) => unknown> = {
        'when it is destroyed unread': (stream) => stream.destroy(),
        'when it is destroyed with an error': fail,
        'when it is destroyed before its first byte came': (stream) => {
          stream.resume();
          stream.destroy();
        },
        'when it is destroyed in the middle': async (stream) => {
          await once(stream, 'readable');
          stream.read(1_000);
          stream.destroy();
        },
        'when its reader leaves': async (stream) => {
          for await (const _ of stream) break;
        },
        'when it was read to its end': (stream) => bytesOf(stream),
        'when it is destroyed after its end': async (stream) => {
          await bytesOf(stream);
          stream.destroy();
        },
        'when a ZIP of it is destroyed': async (stream) => {
          const opened: string[] = [];
          const open = (name: string) => async () => {
            opened.push(name);
            return name === 'first' ? stream : store.get('jobs/a/large');
          };
          const zip = zipStream(['first', 'second'].map((name) => ({ name, open: open(name), compress: false })));
          await once(zip, 'readable');
          zip.destroy();
          await new Promise(setImmediate);
          expect(opened).toEqual(['first']);
        },
        'when a ZIP of it is destroyed unread': (stream) =>
          zipStream([{ name: 'first', open: async () => stream, compress: true }]).destroy(),
      };
      for (const [which, end] of Object.entries(cases)) {
        it(which, async () => {
          await put('jobs/a/large', randomBytes(3 * MIB), 3 * MIB);
          await bytesOf(await store.get('jobs/a/large'));
          const before = await held();
          for (let time = 0; time < 20; time++)
            await end(await store.get('jobs/a/large', time % 2 === 0 ? undefined : { start: 5, end: 2 * MIB }));
          expect(await excess(before, held)).toEqual({});
        });
      }
    });

    describe('the limit', () => {
      it('is inclusive', async () => expect(await put('jobs/a/in', randomBytes(100_000), 100_000)).toMatchObject({ sizeBytes: 100_000 }));

      it('plus one byte is too much, and nothing is kept', async () => {
        const refused = put('jobs/a/in', randomBytes(100_001), 100_000);
        await expect(refused).rejects.toThrow(TooLarge);
        await expectNothing('jobs/a/in');
      });

      it('ends a source that never would', async () => {
        const endless = new Readable({
          read() {
            this.push(Buffer.alloc(65_536));
          },
        });
        const error = await store.put('jobs/a/in', endless, MIB).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(TooLarge);
        expect((error as TooLarge).receivedBytes).toBeGreaterThan(MIB);
        expect(endless.destroyed).toBe(true);
        await expectNothing('jobs/a/in');
      });
    });

    describe('a put leaves nothing behind', () => {
      /** Gives some bytes and then nothing more, until `after` does something to it. */
      const stalling = (after: (source: Readable) => void): Readable => {
        let reads = 0;
        return new Readable({
          read() {
            if (++reads === 1) this.push(randomBytes(50_000));
            else setImmediate(after, this);
          },
        });
      };

      it('when its source fails midway', async () => {
        const source = stalling((it) => it.destroy(new Error('the client went away')));
        await expect(store.put('jobs/a/in', source, MIB)).rejects.toThrow('the client went away');
        await expectNothing('jobs/a/in');
      });

      it('when its source had failed before', async () => {
        const source = new Readable({ read() {} });
        source.destroy(new Error('too late'));
        await expect(store.put('jobs/a/in', source, MIB)).rejects.toThrow();
        await expectNothing('jobs/a/in');
      });

      it('when its source is cut off without an error', async () => {
        await expect(
          store.put(
            'jobs/a/in',
            stalling((it) => it.destroy()),
            MIB,
          ),
        ).rejects.toThrow();
        await expectNothing('jobs/a/in');
      });

      it('when it is aborted while its source stands still', async () => {
        const abort = new AbortController();
        const source = stalling(() => abort.abort());
        await expect(store.put('jobs/a/in', source, MIB, abort.signal)).rejects.toThrow(/abort/i);
        expect(source.destroyed).toBe(true);
        await expectNothing('jobs/a/in');
      });

      it('when it was aborted before', async () => {
        await expect(store.put('jobs/a/in', streamOf(randomBytes(10)), MIB, AbortSignal.abort())).rejects.toThrow(/abort/i);
        await expectNothing('jobs/a/in');
      });

      it('and what was under its key before stays', async () => {
        await put('jobs/a/in', 'before');
        await expect(put('jobs/a/in', 'too long', 3)).rejects.toThrow(TooLarge);
        expect(String(await contentOf('jobs/a/in'))).toBe('before');
      });
    });

    describe('at the same time', () => {
      it('puts of one key end with one of them, whole', async () => {
        const contents = Array.from({ length: 12 }, () => randomBytes(80_000));
        await Promise.all(contents.map((bytes) => put('jobs/a/out', bytes)));
        const kept = sha256(await contentOf('jobs/a/out'));
        expect(contents.map(sha256)).toContain(kept);
        expect(await harness.unfinished()).toEqual([]);
      });

      it('a put and the delete of its only neighbour do not disturb each other', async () => {
        for (let round = 0; round < 60; round++) {
          await put('jobs/a/old', 'x');
          await Promise.all([store.delete('jobs/a/old'), put('jobs/a/new', 'y'), store.delete('jobs/a/old')]);
          expect(String(await contentOf('jobs/a/new'))).toBe('y');
          await store.delete('jobs/a/new');
        }
      });

      it('a reader keeps what it began to read when the object is deleted or replaced', async () => {
        const bytes = randomBytes(500_000);
        await put('jobs/a/out', bytes);
        const stream = await store.get('jobs/a/out');
        await put('jobs/a/out', 'other');
        await store.delete('jobs/a/out');
        expect(sha256(await bytesOf(stream))).toBe(sha256(bytes));
      });
    });

    describe('a key that tries to escape is refused', () => {
      const keys = [
        '../x',
        'jobs/../../x',
        '/etc/passwd',
        'jobs//x',
        'jobs/./x',
        'jobs/..',
        '.',
        '',
        'jobs/x/',
        'a\0b',
        'a\\b',
        'a b',
        'a~1',
        'ä',
        '%2e%2e/x',
      ];
      for (const key of [...keys, 'x'.repeat(2_000)]) {
        it(JSON.stringify(key.slice(0, 40)), async () => {
          const source = streamOf(Buffer.from('x'));
          await expect(store.put(key, source, MIB)).rejects.toThrow(RangeError);
          expect(source.destroyed).toBe(true);
          await expect(store.get(key)).rejects.toThrow(RangeError);
          await expect(store.head(key)).rejects.toThrow(RangeError);
          await expect(store.delete(key)).rejects.toThrow(RangeError);
          await expect(store.grantRead(key, 1_000)).rejects.toThrow(RangeError);
          await expect(store.grantWrite(key, 1_000)).rejects.toThrow(RangeError);
        });
      }

      it('and so is such a prefix', async () => {
        for (const prefix of ['../', 'jobs/../../', '/', '/etc/']) await expect(collect(store.scan(prefix))).rejects.toThrow(RangeError);
      });
    });

    describe('a scan', () => {
      const keysBelow = async (prefix: string) => (await collect(store.scan(prefix))).map(({ key }) => key).toSorted();

      it('of nothing yields nothing', async () => expect(await keysBelow('')).toEqual([]));

      it('yields what begins with the prefix, wherever that ends', async () => {
        for (const key of ['jobs/aa/input', 'jobs/aa/output-1', 'jobs/ab/input', 'jobs/b/input', 'uploads/aa']) await put(key, key);
        expect(await keysBelow('jobs/aa/')).toEqual(['jobs/aa/input', 'jobs/aa/output-1']);
        expect(await keysBelow('jobs/a')).toEqual(['jobs/aa/input', 'jobs/aa/output-1', 'jobs/ab/input']);
        expect(await keysBelow('jobs/aa/out')).toEqual(['jobs/aa/output-1']);
        expect(await keysBelow('')).toHaveLength(5);
        expect(await keysBelow('jobs/zz/')).toEqual([]);
        expect((await collect(store.scan('uploads/')))[0]).toMatchObject({ key: 'uploads/aa', sizeBytes: 10 });
      });

      it('goes on while objects are deleted, and yields every other once', async () => {
        const keys = Array.from({ length: 80 }, (_, n) => `jobs/j${n}/input`);
        await Promise.all(keys.map((key) => put(key, 'x')));
        const doomed = keys.filter((_, n) => n % 2 === 1);
        const seen: string[] = [];
        for await (const { key } of store.scan('jobs/')) {
          seen.push(key);
          for (const gone of doomed.splice(0, 5)) await store.delete(gone);
        }
        for (const key of keys.filter((_, n) => n % 2 === 0)) expect(seen.filter((it) => it === key)).toHaveLength(1);
      });

      it('does not see an object that is still being written', async () => {
        const abort = new AbortController();
        const { promise: begun, resolve } = Promise.withResolvers<void>();
        let reads = 0;
        const source = new Readable({
          read() {
            if (++reads === 1) this.push('half');
            else resolve();
          },
        });
        const writing = store.put('jobs/a/in', source, MIB, abort.signal);
        await begun;
        expect(await keysBelow('')).toEqual([]);
        expect(await store.head('jobs/a/in')).toBeUndefined();
        abort.abort();
        await expect(writing).rejects.toThrow();
      });
    });

    describe('a grant', () => {
      const never = new AbortController().signal;
      let folder: string;
      beforeEach(async () => {
        folder = await mkdtemp(join(tmpdir(), 'filemill-transfer-'));
      });
      afterEach(() => rm(folder, { recursive: true }));

      it('to read fetches the object', async () => {
        const bytes = randomBytes(200_000);
        await put('jobs/a/input', bytes);
        await download(await store.grantRead('jobs/a/input', 60_000), join(folder, 'in'), 200_000, never);
        expect(await readFile(join(folder, 'in'))).toEqual(bytes);
      });

      it('to write stores the file where the key is then found', async () => {
        for (const bytes of [randomBytes(200_000), Buffer.of()]) {
          await writeFile(join(folder, 'out'), bytes);
          const url = await store.grantWrite('jobs/new/output-1', 60_000);
          const written = await upload(join(folder, 'out'), url, 200_000, never);
          expect(written).toEqual({ sizeBytes: bytes.byteLength, sha256: sha256(bytes) });
          expect(await store.head('jobs/new/output-1')).toMatchObject({ sizeBytes: bytes.byteLength });
          expect(await contentOf('jobs/new/output-1')).toEqual(bytes);
        }
        expect(await harness.unfinished()).toEqual([]);
      });

      it('to read what is not there says so and leaves no file', async () => {
        const url = await store.grantRead('jobs/none/input', 60_000);
        await expect(download(url, join(folder, 'in'), 10, never)).rejects.toThrow(Missing);
        expect(await readdir(folder)).toEqual([]);
      });

      it('does not carry more than allowed, either way', async () => {
        await put('jobs/a/input', '12345');
        await expect(download(await store.grantRead('jobs/a/input', 60_000), join(folder, 'in'), 4, never)).rejects.toThrow(TooLarge);
        expect(await readdir(folder)).toEqual([]);
        await writeFile(join(folder, 'out'), '12345');
        await expect(upload(join(folder, 'out'), await store.grantWrite('jobs/a/output-1', 60_000), 4, never)).rejects.toThrow(TooLarge);
        await expectNothing('jobs/a/output-1');
      });

      it('that is aborted carries nothing', async () => {
        await put('jobs/a/input', '12345');
        const [read, write] = [await store.grantRead('jobs/a/input', 60_000), await store.grantWrite('jobs/a/output-1', 60_000)];
        await expect(download(read, join(folder, 'in'), 10, AbortSignal.abort())).rejects.toThrow(/abort/i);
        expect(await readdir(folder)).toEqual([]);
        await writeFile(join(folder, 'out'), '12345');
        await expect(upload(join(folder, 'out'), write, 10, AbortSignal.abort())).rejects.toThrow(/abort/i);
        await expectNothing('jobs/a/output-1');
      });

      it('does not overwrite a file, nor follow a link that a converter left', async () => {
        await put('jobs/a/input', '12345');
        await writeFile(join(folder, 'secret'), 'canary');
        await symlink(join(folder, 'secret'), join(folder, 'link'));
        await expect(download(await store.grantRead('jobs/a/input', 60_000), join(folder, 'link'), 10, never)).rejects.toThrow(/EEXIST/);
        await expect(upload(join(folder, 'link'), await store.grantWrite('jobs/a/output-1', 60_000), 10, never)).rejects.toThrow(/ELOOP/);
        await expect(upload(folder, await store.grantWrite('jobs/a/output-1', 60_000), 10_000, never)).rejects.toThrow(/plain file/);
        expect(await readFile(join(folder, 'secret'), 'utf8')).toBe('canary');
        await expectNothing('jobs/a/output-1');
      });
    });

    if (typeof small === 'string') it.skip(`says that it is full (not shown here: ${small})`, () => {});
    else
      it('says that it is full, leaves nothing of what did not fit, and still takes what does', async () => {
        const full = await small.open();
        try {
          await expect(full.store.put('jobs/a/in', streamOf(randomBytes(3 * MIB)), 10 * MIB)).rejects.toThrow(StoreFull);
          expect(await full.store.head('jobs/a/in')).toBeUndefined();
          expect(await full.unfinished()).toEqual([]);
          expect(await full.store.put('jobs/a/in', streamOf(randomBytes(100_000)), MIB)).toMatchObject({ sizeBytes: 100_000 });
        } finally {
          await full.close();
        }
      });
  });
}
