/** The backends of one machine: SQLite and a directory, held to the suites, and what is special about them. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openSqliteJobs } from '../../src/jobs/sqlite/jobs.ts';
import { Unreadable } from '../../src/jobs/text.ts';
import { openDirectory } from '../../src/objects/directory.ts';
import { download } from '../../src/objects/transfer.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { AHEAD_BY, NEXT, openSqliteQueue } from '../../src/queue/sqlite.ts';
import { jobsSuite } from './jobs.ts';
import { type ObjectsHarness, objectsSuite, type SmallStore } from './objects.ts';
import { CAPACITY, queueSuite } from './queue.ts';
import { anOrder, aRecord, collect, HOUR, jobId, START, someId, streamOf } from './samples.ts';

const newFolder = () => mkdtemp(join(tmpdir(), 'filemill-embedded-'));
const removeFolder = (folder: string) => rm(folder, { recursive: true, force: true });

/** Opens a backend again and again on one file, under one clock that only `elapse` moves. */
async function onOneFile<T extends { close(): Promise<void> }>(open: (path: string, clock: () => number) => T) {
  const folder = await newFolder();
  let now = START;
  const opened: T[] = [];
  const reopen = async () => {
    const one = open(join(folder, 'filemill.db'), () => now);
    opened.push(one);
    return one;
  };
  return {
    first: await reopen(),
    reopen,
    elapse: async (ms: number) => {
      now += ms;
    },
    sql: (text: string, ...values: string[]) => {
      const database = new DatabaseSync(join(folder, 'filemill.db'));
      database.prepare(text).run(...values);
      database.close();
    },
    close: async () => {
      for (const one of opened) await one.close();
      await removeFolder(folder);
    },
  };
}

async function directoryAt(root: string, close: () => Promise<void>): Promise<ObjectsHarness> {
  return {
    store: await openDirectory(root),
    reopen: () => openDirectory(root),
    unfinished: async () => (await readdir(root, { recursive: true })).filter((name) => name.includes('~')),
    close,
  };
}

/** A file system of 1 MiB, where one can be mounted. */
function smallDirectory(): SmallStore | string {
  if (process.getuid?.() !== 0) return 'mounting a small file system needs root';
  const mount = (folder: string) => spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).status === 0;
  return {
    async open() {
      const folder = await newFolder();
      if (!mount(folder)) throw new Error('root could not mount a tmpfs: run as another user, or with CAP_SYS_ADMIN');
      return directoryAt(folder, async () => {
        execFileSync('umount', [folder]);
        await removeFolder(folder);
      });
    },
  };
}

jobsSuite('SQLite', async () => {
  const { first, sql, ...rest } = await onOneFile((path, clock) => openSqliteJobs(path, clock, () => {}));
  return { store: first, damage: async (id, text) => sql('UPDATE jobs SET record = ? WHERE id = ?', text, id), ...rest };
});

queueSuite('SQLite', async () => {
  const { first, ...rest } = await onOneFile((path, clock) => openSqliteQueue(path, clock, { capacity: CAPACITY }));
  return { queue: first, ...rest };
});

objectsSuite(
  'a directory',
  async () => {
    const folder = await newFolder();
    return directoryAt(join(folder, 'objects'), () => removeFolder(folder));
  },
  smallDirectory(),
);

let folder: string;
beforeEach(async () => {
  folder = await newFolder();
});
afterEach(() => removeFolder(folder));

/** Runs a module's text in a separate process, with the sources at hand. */
function processOf(text: string) {
  const src = new URL('../../src/', import.meta.url).href;
  return spawn(process.execPath, ['--input-type=module', '-e', text.replaceAll('SRC/', src)], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

describe('one SQLite file', () => {
  it('serves several processes that open it at once, and loses none of their writes', async () => {
    const path = join(folder, 'filemill.db');
    const text = `
      import { openSqliteJobs } from 'SRC/jobs/sqlite/jobs.ts';
      import { openSqliteQueue } from 'SRC/queue/sqlite.ts';
      const jobs = openSqliteJobs('${path}', Date.now);
      const queue = openSqliteQueue('${path}', Date.now, { capacity: 1000 });
      const record = ${JSON.stringify(aRecord({ id: jobId(1) }))};
      await jobs.create(record).catch(() => {});
      for (let done = 0; done < 50; ) {
        const stored = await jobs.get(record.id);
        await jobs.update({ ...stored.record, attempts: stored.record.attempts + 1 }, stored.revision).then(() => done++, () => {});
        await queue.publish({ version: 1, jobId: process.pid.toString(16).padStart(30, '0') + (16 + done).toString(16), pool: 'image', lane: 'bulk' });
      }
    `;
    const exits = await Promise.all(Array.from({ length: 3 }, () => once(processOf(text), 'exit')));
    expect(exits.map(([code]) => code)).toEqual([0, 0, 0]);
    const jobs = openSqliteJobs(path, Date.now);
    const queue = openSqliteQueue(path, Date.now, { capacity: 1_000 });
    expect((await jobs.get(jobId(1)))?.record.attempts).toBe(150);
    // One to fifty each: an order is published before its first update has succeeded, or after.
    expect((await queue.depth('image')).waiting).toBeGreaterThanOrEqual(150);
    await Promise.all([jobs.close(), queue.close()]);
  });

  const damage: Record<string, [string, RegExp]> = {
    'of a newer version': [JSON.stringify({ ...aRecord(), version: 2, more: true }), /version 2.*upgrade/],
    'that is not JSON': ['{"version":1', /not JSON/],
    'of another shape': ['{"version":1}', /shape/],
  };
  for (const [which, [text, message]] of Object.entries(damage)) {
    it(`names a record ${which} when it is read, and scans past it`, async () => {
      const path = join(folder, 'filemill.db');
      const reported: Unreadable[] = [];
      const jobs = openSqliteJobs(path, Date.now, (found) => reported.push(found));
      for (const n of [1, 2, 3]) await jobs.create(aRecord({ id: jobId(n) }));
      const database = new DatabaseSync(path);
      database.prepare('UPDATE jobs SET record = ? WHERE id = ?').run(text, jobId(2));
      database.close();
      const error = await jobs.get(jobId(2)).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(Unreadable);
      expect(String(error)).toMatch(message);
      expect(String(error)).toContain(jobId(2));
      expect((await collect(jobs.scan())).map(({ record }) => record.id)).toEqual([jobId(1), jobId(3)]);
      expect(reported.map((found) => found.jobId)).toEqual([jobId(2)]);
      await jobs.close();
    });
  }

  it('takes over the records of an older filemill, and finds those due that are', async () => {
    const path = join(folder, 'filemill.db');
    const database = new DatabaseSync(path);
    database.exec('CREATE TABLE jobs (revision INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, record TEXT NOT NULL) STRICT');
    const insert = database.prepare('INSERT INTO jobs (id, record) VALUES (?, ?)');
    const ended = { state: 'done', endedAt: START } as const;
    const records = [
      aRecord({ id: jobId(1) }),
      aRecord({ id: jobId(2), ...ended, expiresAt: START + 1 }),
      aRecord({ id: jobId(3), ...ended, expiresAt: START - HOUR }),
      aRecord({ id: jobId(4), ...ended, expiresAt: START - 25 * HOUR }),
    ];
    for (const record of records) insert.run(record.id, JSON.stringify(record));
    insert.run(jobId(5), '{');
    const jobs = openSqliteJobs(path, () => START);
    const dueAt = async (now: number) => (await collect(jobs.due(now))).map(({ id }) => id);
    expect(await dueAt(START)).toEqual([1, 5, 4].map(jobId));
    expect(await dueAt(START + 1)).toEqual([1, 5, 4, 2].map(jobId));
    expect(await dueAt(START + 23 * HOUR)).toEqual([1, 5, 4, 2, 3].map(jobId));
    // The older one, still running, writes as it always did.
    database.exec(`INSERT OR REPLACE INTO jobs (id, record) SELECT id, record FROM jobs WHERE id = '${jobId(3)}'`);
    expect(await dueAt(START)).toContain(jobId(3));
    database.close();
    await jobs.close();
  });

  it('hands on an order past a damaged one', async () => {
    const path = join(folder, 'filemill.db');
    const queue = openSqliteQueue(path, Date.now, { capacity: 10 });
    for (const n of [1, 2]) await queue.publish({ version: 1, jobId: jobId(n), pool: 'image', lane: 'bulk' });
    const database = new DatabaseSync(path);
    database.prepare('UPDATE orders SET body = ? WHERE job_id = ?').run('{', jobId(1));
    database.close();
    expect((await queue.pull('image', ['bulk'], 0))?.order.jobId).toBe(jobId(2));
    expect(await queue.has('image', jobId(1))).toBe(true);
    await queue.close();
  });

  describe('shared by clients', () => {
    let queue: Queue;
    let path: string;
    beforeEach(() => {
      path = join(folder, 'filemill.db');
      queue = openSqliteQueue(path, Date.now, { capacity: 200_000 });
    });
    afterEach(() => queue.close());
    const publish = async (client: string, count: number) => {
      for (let n = 0; n < count; n++) await queue.publish(anOrder({ jobId: someId() }), { client });
    };
    /** Whose the next order is. */
    const taken = async () => {
      const delivery = await queue.pull('image', ['interactive'], 0);
      const database = new DatabaseSync(path, { readOnly: true });
      const row = database.prepare('SELECT client FROM orders WHERE job_id = ?').get(delivery?.order.jobId ?? '');
      database.close();
      return { client: row?.['client'], end: async () => delivery?.done() };
    };

    it('hands orders out in turn', async () => {
      for (const [client, count] of Object.entries({ a: 9, b: 9, c: 2 })) await publish(client, count);
      const turns = [];
      for (let n = 0; n < 9; n++) {
        const { client, end } = await taken();
        turns.push(client);
        await end();
      }
      // The fourth and the eighth are those that wait longest.
      expect(turns).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a', 'a', 'b']);
    });

    it('prefers at every turn the client that holds the fewest orders', async () => {
      await publish('many', 100);
      for (let n = 0; n < 3; n++) await taken();
      await publish('other', 20);
      const holds = new Map<unknown, number>([['many', 3]]);
      for (let n = 0; n < 13; n++) {
        const { client } = await taken();
        holds.set(client, (holds.get(client) ?? 0) + 1);
      }
      expect(Object.fromEntries(holds)).toEqual({ many: 8, other: 8 });
    });

    it('lets no client wait for ever, however many others come', async () => {
      await publish('patient', 2);
      await publish('crowd', 2);
      const turns = [];
      for (let n = 0; n < 20; n++) {
        await publish(`new ${n}`, 2);
        const { client, end } = await taken();
        turns.push(client);
        await end();
      }
      expect(turns.filter((client) => client === 'patient')).toHaveLength(2);
      expect(turns.filter((client) => client === 'crowd')).toHaveLength(2);
    });

    it('looks at a few of however many wait, by an index', () => {
      const database = new DatabaseSync(path);
      for (const query of Object.values(NEXT)) {
        const plan = database.prepare(`EXPLAIN QUERY PLAN ${query}`).all({ pool: 'image', lane: 'interactive', now: 1 });
        const reads = plan.map(({ detail }) => String(detail)).filter((step) => /\borders\b/.test(step));
        expect(reads.length).toBeGreaterThan(1);
        for (const read of reads)
          expect(read).toMatch(/^SEARCH orders USING (COVERING )?INDEX \w+ \(pool=\? AND (lane=\?|visible_at>\?)\)/);
      }
      database.close();
    });

    it('sorts none of those that wait to find the few', () => {
      const database = new DatabaseSync(path);
      for (const ahead of Object.values(AHEAD_BY)) {
        const plan = database.prepare(`EXPLAIN QUERY PLAN ${ahead}`).all({ pool: 'image', lane: 'interactive', now: 1 });
        expect(plan).toHaveLength(1);
      }
      database.close();
    });
  });

  it('takes over the orders of an older filemill, beside which it publishes', async () => {
    const path = join(folder, 'filemill.db');
    const database = new DatabaseSync(path);
    database.exec(`CREATE TABLE orders (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      pool TEXT NOT NULL, job_id TEXT NOT NULL, lane TEXT NOT NULL, body TEXT NOT NULL,
      published_at INTEGER NOT NULL, visible_at INTEGER NOT NULL, token TEXT, deliveries INTEGER NOT NULL DEFAULT 0,
      UNIQUE (pool, job_id)
    ) STRICT`);
    const publishAsBefore = (number: number) => {
      const order = anOrder({ jobId: jobId(number) });
      database
        .prepare("INSERT INTO orders (pool, job_id, lane, body, published_at, visible_at) VALUES ('image', ?, 'interactive', ?, 0, 0)")
        .run(order.jobId, JSON.stringify(order));
    };
    publishAsBefore(1);
    publishAsBefore(2);
    const [queue, again] = [openSqliteQueue(path, Date.now, { capacity: 10 }), openSqliteQueue(path, Date.now, { capacity: 10 })];
    await queue.publish(anOrder({ jobId: jobId(4) }), { client: 'client' });
    await queue.publish(anOrder({ jobId: jobId(5) }), { client: 'client' });
    // The older one, still running, publishes as it always did.
    publishAsBefore(3);
    database.close();
    const pulled = [];
    for (let n = 0; n < 5; n++) pulled.push((await again.pull('image', ['interactive'], 0))?.order.jobId);
    expect(pulled.toSorted()).toEqual([1, 2, 3, 4, 5].map(jobId));
    expect(pulled.indexOf(jobId(1))).toBeLessThan(pulled.indexOf(jobId(2)));
    await Promise.all([queue.close(), again.close()]);
  });

  it('lets a pull of an empty pool sleep until something is published, where no other process publishes', async () => {
    let looks = 0;
    const clock = () => {
      looks++;
      return Date.now();
    };
    const queue = openSqliteQueue(join(folder, 'filemill.db'), clock, { capacity: 10, exclusive: true });
    const pulled = queue.pull('image', ['bulk'], 600_000);
    const atFirst = looks;
    await pause(2_500);
    expect(looks).toBe(atFirst);
    await queue.publish({ version: 1, jobId: jobId(1), pool: 'image', lane: 'bulk' });
    const delivery = await pulled;
    expect(delivery?.order.jobId).toBe(jobId(1));
    // What was released with a delay comes when that has passed.
    await delivery?.release(300);
    expect((await queue.pull('image', ['bulk'], 600_000))?.order.jobId).toBe(jobId(1));
    await queue.close();
  });

  it('wakes a pull that waits in the same process at once, without a timer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      const queue = openSqliteQueue(join(folder, 'filemill.db'), Date.now, { capacity: 10 });
      const pulled = queue.pull('image', ['bulk'], 600_000);
      await queue.publish({ version: 1, jobId: jobId(1), pool: 'image', lane: 'bulk' });
      const next = queue.pull('image', ['bulk'], 600_000);
      await (await pulled)?.release(0);
      expect((await next)?.redelivered).toBe(true);
      await queue.close();
    } finally {
      vi.useRealTimers();
    }
  });

  it('that is closed ends the pulls that wait', async () => {
    const queue = openSqliteQueue(join(folder, 'filemill.db'), Date.now, { capacity: 10 });
    const pulled = queue.pull('image', ['bulk'], 600_000);
    await queue.close();
    expect(await pulled).toBeUndefined();
  });
});

describe('a directory of objects', () => {
  it('is swept of what a killed process was writing, at the next start', async () => {
    const child = processOf(`
      import { Readable } from 'node:stream';
      import { openDirectory } from 'SRC/objects/directory.ts';
      const store = await openDirectory('${folder}/objects');
      let reads = 0;
      const source = new Readable({ read() { if (++reads === 1) this.push(Buffer.alloc(99)); else console.log('half'); } });
      setInterval(() => {}, 1000);
      await store.put('jobs/a/in', source, 1000);
    `);
    await once(child.stdout, 'data');
    const names = async () => (await readdir(join(folder, 'objects'), { recursive: true })).filter((name) => name.includes('~'));
    await openDirectory(join(folder, 'objects'));
    expect(await names(), 'its writer still lives').toHaveLength(1);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const store = await openDirectory(join(folder, 'objects'));
    expect(await names()).toEqual([]);
    expect(await collect(store.scan(''))).toEqual([]);
  });

  it('is swept of old temporary files by a scan, though a process with the id in their names lives now', async () => {
    const store = await openDirectory(folder);
    await mkdir(join(folder, 'jobs'));
    for (const name of ['old~1-abc', 'young~1-abc']) await writeFile(join(folder, 'jobs', name), 'x');
    const yesterday = Date.now() / 1_000 - 86_400;
    await utimes(join(folder, 'jobs', 'old~1-abc'), yesterday, yesterday);
    await collect(store.scan('jobs/'));
    expect(await readdir(join(folder, 'jobs'))).toEqual(['young~1-abc']);
  });

  it('keeps no empty folder, but itself', async () => {
    const store = await openDirectory(join(folder, 'objects'));
    await store.put('jobs/a/in', streamOf(Buffer.from('x')), 10);
    await store.delete('jobs/a/in');
    await expect(store.put('jobs/b/in', streamOf(Buffer.from('too long')), 1)).rejects.toThrow();
    expect(await readdir(join(folder, 'objects'))).toEqual([]);
  });

  it('is open to its owner only', async () => {
    await openDirectory(join(folder, 'objects'));
    expect((await stat(join(folder, 'objects'))).mode & 0o077).toBe(0);
  });

  it('shares no inode with whom it grants to read', async () => {
    const store = await openDirectory(join(folder, 'objects'));
    await store.put('jobs/a/in', streamOf(Buffer.from('x')), 10);
    await download(await store.grantRead('jobs/a/in', 1_000), join(folder, 'copy'), 10, new AbortController().signal);
    const inode = async (path: string) => (await stat(join(folder, path))).ino;
    expect(await inode('copy')).not.toBe(await inode('objects/jobs/a/in'));
  });
});
