import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cancel, FETCHING, fetched } from '../../../src/jobs/lifecycle.ts';
import type { JobRecord } from '../../../src/jobs/record.ts';
import { openSqliteBatches } from '../../../src/jobs/sqlite/batches.ts';
import { openSqliteIdempotency } from '../../../src/jobs/sqlite/idempotency.ts';
import { openSqliteJobs } from '../../../src/jobs/sqlite/jobs.ts';
import { openDirectory } from '../../../src/objects/directory.ts';
import { inputKey, jobOfKey, outputKey } from '../../../src/objects/keys.ts';
import { openSqliteQueue } from '../../../src/queue/sqlite.ts';
import { FETCH_LOST_MS, LOST_AFTER_MS, nextAction } from '../../../src/upkeep/decide.ts';
import { orphans } from '../../../src/upkeep/orphans.ts';
import type { Seen, SweepAction } from '../../../src/upkeep/seen.ts';
import { sweep, type Upkept } from '../../../src/upkeep/sweep.ts';
import { startUpkeep } from '../../../src/upkeep/upkeep.ts';
import { walkThrough } from '../../../src/upkeep/walk.ts';
import { aRecord, collect, HOUR, jobId, START, someId, streamOf } from '../../conformance/samples.ts';

const ID = jobId(1);
const INPUT = inputKey(ID);
const [WON, LOST] = [outputKey(ID, 'won'), outputKey(ID, 'lost')];

const seen = (record: Partial<JobRecord>, change: Partial<Seen> = {}): Seen => ({
  now: START + 10 * 60_000,
  record: aRecord({ id: ID, ...record }),
  hasOrder: true,
  keys: [],
  queueMs: HOUR,
  ...change,
});
const output = { key: WON, filename: 'f.jpg', sizeBytes: 1, contentType: 'image/jpeg', sha256: '', files: 1 };
const running: Partial<JobRecord> = { state: 'running', attempt: 'won', attempts: 1, startedAt: START + 10 * 60_000 };
const done: Partial<JobRecord> = { state: 'done', attempt: 'won', attempts: 1, endedAt: START + 60_000, output };
const failed: Partial<JobRecord> = { state: 'error', endedAt: START + 60_000, failure: { reason: 'timeout', message: 'm', details: {} } };
const cancelled = cancel(aRecord({ id: ID }), START + 60_000);
const order = { version: 1, jobId: ID, pool: 'image', lane: 'interactive' } as const;
const fetching: Partial<JobRecord> = { pool: FETCHING };
const lost = { now: START + LOST_AFTER_MS + 1, hasOrder: false };

describe('a job', () => {
  const cases: Record<string, [Seen, SweepAction | undefined]> = {
    'that waits with its order is left alone': [seen({}, { keys: [INPUT] }), undefined],
    'that waits without an order is ordered again': [seen({}, lost), { do: 'publish', order }],
    'that was created just now may have its order yet to come': [seen({}, { ...lost, now: START + LOST_AFTER_MS }), undefined],
    'whose files are being fetched needs no order': [seen(fetching, { hasOrder: false, now: START + FETCH_LOST_MS }), { do: 'wait' }],
    'whose fetch was cut off by a crash fails': [
      seen(fetching, { hasOrder: false, now: START + FETCH_LOST_MS + 1 }),
      { do: 'fail', failed: expect.objectContaining({ state: 'error', failure: expect.objectContaining({ reason: 'url_refused' }) }) },
    ],
    'whose fetch was cut off by a restart fails at once': [
      seen(fetching, { hasOrder: false, aloneSince: START + 1 }),
      { do: 'fail', failed: expect.objectContaining({ state: 'error' }) },
    ],
    'whose files were fetched before a crash moves to its pool': [
      seen(fetched(aRecord({ id: ID, ...fetching }), aRecord({ id: ID }), START), { ...lost }),
      { do: 'move' },
    ],
    'that runs with its order is left alone, its input and output too': [seen(running, { keys: [INPUT, WON] }), undefined],
    'that runs without an order is ordered again': [seen({ ...running, startedAt: START }, lost), { do: 'publish', order }],
    'that was claimed just now is not ordered again': [seen({ ...running, startedAt: lost.now - LOST_AFTER_MS }, lost), undefined],
    'that runs loses what an earlier attempt wrote': [seen(running, { keys: [INPUT, WON, LOST] }), { do: 'delete', keys: [LOST] }],
    'that waits again loses what its attempt wrote': [seen({}, { keys: [INPUT, LOST] }), { do: 'delete', keys: [LOST] }],
    'that runs past its expiry is not expired': [seen(running, { now: START + 5 * HOUR, keys: [INPUT] }), undefined],
    'that is done loses its input': [seen(done, { keys: [INPUT, WON] }), { do: 'delete', keys: [INPUT] }],
    'that is done loses the outputs of other attempts': [seen(done, { keys: [WON, LOST] }), { do: 'delete', keys: [LOST] }],
    'that is done and tidy is left alone, order or not': [seen(done, { keys: [WON], hasOrder: false, now: START + HOUR }), undefined],
    'that failed keeps no file': [seen(failed, { keys: [INPUT, LOST] }), { do: 'delete', keys: [INPUT, LOST] }],
    'that was cancelled loses all files at once': [
      seen(cancelled, { keys: [INPUT, LOST], now: START + 60_000 }),
      { do: 'delete', keys: [INPUT, LOST] },
    ],
    'that was cancelled keeps its record for a day': [seen(cancelled, { now: START + 60_000 + 24 * HOUR - 1 }), undefined],
    'that was cancelled is forgotten after a day': [seen(cancelled, { now: START + 60_000 + 24 * HOUR }), { do: 'forget' }],
    'keeps its output until the very end': [seen(done, { keys: [WON], now: START + 2 * HOUR - 1 }), undefined],
    'loses its output when it expires': [seen(done, { keys: [WON], now: START + 2 * HOUR }), { do: 'delete', keys: [WON] }],
    'that is expired keeps its record for a day': [seen(done, { now: START + 26 * HOUR - 1 }), undefined],
    'that expired a day ago is forgotten': [seen(done, { now: START + 26 * HOUR }), { do: 'forget' }],
    'is not forgotten before its files are gone': [seen(done, { keys: [WON], now: START + 48 * HOUR }), { do: 'delete', keys: [WON] }],
    'may wait for as long as is allowed': [seen({}, { now: START + HOUR }), undefined],
    'is not forgotten while its files cannot be listed': [seen(done, { keys: undefined, now: START + 48 * HOUR }), undefined],
    'is ordered again though its files cannot be listed': [seen({}, { ...lost, keys: undefined }), { do: 'publish', order }],
  };
  for (const [sentence, [facts, action]] of Object.entries(cases)) it(sentence, () => expect(nextAction(facts)).toEqual(action));

  it('that waits longer than allowed fails, keeps no secret, and is kept for its client to see', () => {
    const now = START + HOUR + 1;
    const action = nextAction(seen({ sealed: 'secret' }, { now, hasOrder: false }));
    expect(action).toMatchObject({
      do: 'fail',
      failed: { state: 'error', endedAt: now, expiresAt: now + 2 * HOUR, failure: { reason: 'queue_timeout' } },
    });
    expect(JSON.stringify(action)).not.toContain('secret');
  });
});

describe('objects without a record', () => {
  const many = (count: number, age: number) =>
    new Map(Array.from({ length: count }, (_, n) => [jobId(n), [{ key: inputKey(jobId(n)), sizeBytes: 1, modifiedAt: START - age }]]));
  const found = (unclaimed: ReturnType<typeof many>, listed: number) =>
    orphans({ now: START, listed, unclaimed, longestJobMs: HOUR, maxShare: 0.25 });
  const OLD = 4 * HOUR + 1;

  it('are orphans when they are old', () =>
    expect(found(many(2, OLD), 100)).toEqual({ jobIds: [jobId(0), jobId(1)], objects: 2, refused: false }));
  it('are none while a job may still run', () => expect(found(many(2, 4 * HOUR), 100).jobIds).toEqual([]));
  it('are left with a young neighbour', () => {
    const young = { key: outputKey(jobId(0), 'a'), sizeBytes: 1, modifiedAt: START };
    const mixed = new Map([...many(1, OLD)].map(([id, objects]) => [id, [...objects, young]]));
    expect(found(mixed, 100).jobIds).toEqual([]);
  });
  it('are not touched when they are too many of all', () => expect(found(many(30, OLD), 119).refused).toBe(true));
  it('are deleted up to that share', () => expect(found(many(30, OLD), 120).refused).toBe(false));
  it('are not touched in the last part of a listing, however few are left there, where there were too many before', () => {
    const last = orphans({ now: START, listed: 510, unclaimed: many(10, OLD), earlier: 500, longestJobMs: HOUR, maxShare: 0.25 });
    expect(last.refused).toBe(true);
  });
  it('are deleted where there are few, whatever the share', () => expect(found(many(20, OLD), 20).refused).toBe(false));
});

describe('a run over real stores', () => {
  let folder: string;
  let now: number;
  let upkept: Upkept;
  let logged: string[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filemill-upkeep-'));
    // Files bear the machine's time: the run's clock begins there.
    now = Date.now();
    logged = [];
    const log = {
      info: (_: object, message: string) => void logged.push(message),
      warn: (_: object, message: string) => void logged.push(message),
    };
    const clock = () => now;
    upkept = {
      jobs: openSqliteJobs(join(folder, 'filemill.db'), clock),
      batches: openSqliteBatches(join(folder, 'filemill.db'), (found) => logged.push(found.message)),
      idempotency: openSqliteIdempotency(join(folder, 'filemill.db')),
      queue: openSqliteQueue(join(folder, 'filemill.db'), clock, { capacity: 3 }),
      objects: await openDirectory(join(folder, 'objects')),
      clock,
      log,
      queueMs: HOUR,
      longestJobMs: HOUR,
      maxOrphanShare: 0.25,
    };
  });
  afterEach(async () => {
    await Promise.all([upkept.jobs.close(), upkept.batches.close(), upkept.idempotency.close(), upkept.queue.close()]);
    await rm(folder, { recursive: true });
  });

  const create = async (change: Partial<JobRecord> = {}) => {
    const { record } = await upkept.jobs.create(aRecord({ createdAt: now, expiresAt: now + 2 * HOUR, ...change }));
    await put(inputKey(record.id));
    return record;
  };
  const put = (key: string) => upkept.objects.put(key, streamOf(Buffer.from('abc')), 10);
  const stateOf = async (id: string) => (await upkept.jobs.get(id))?.record.state;
  const keys = async () => (await collect(upkept.objects.scan(''))).map(({ key }) => key).toSorted();

  it('brings back the order of a job whose API died before publishing, once', async () => {
    const { id } = await create();
    now += LOST_AFTER_MS + 1;
    expect(await sweep(upkept)).toMatchObject({ publish: 1, troubles: 0 });
    expect(await upkept.queue.has('image', id)).toBe(true);
    expect(await sweep(upkept)).toMatchObject({ publish: 0 });
    expect(await stateOf(id)).toBe('queued');
  });

  it('follows a job from the queue until it is forgotten', async () => {
    const { id, pool, lane } = await create();
    await upkept.queue.publish({ version: 1, jobId: id, pool, lane });
    now += HOUR + 1;
    expect(await sweep(upkept)).toMatchObject({ fail: 1 });
    expect(await upkept.queue.has(pool, id)).toBe(false);
    expect(await stateOf(id)).toBe('error');
    expect(await sweep(upkept)).toMatchObject({ delete: 1 });
    expect(await keys()).toEqual([]);
    now += 26 * HOUR - 1;
    expect(await sweep(upkept)).toMatchObject({ forget: 0 });
    now += 1;
    expect(await sweep(upkept)).toMatchObject({ forget: 1 });
    expect(await upkept.jobs.get(id)).toBeUndefined();
  });

  it('leaves a job alone that a worker ended between two looks', async () => {
    const { id } = await create({ state: 'running', attempt: 'won', attempts: 1, startedAt: now });
    now += LOST_AFTER_MS + 1;
    const asked = upkept.queue.has.bind(upkept.queue);
    const queue = {
      ...upkept.queue,
      async has(pool: string, jobId: string) {
        const stored = await upkept.jobs.get(id);
        if (stored?.record.state === 'running') {
          await upkept.jobs.update({ ...stored.record, state: 'error', endedAt: now }, stored.revision);
        }
        return asked(pool, jobId);
      },
    };
    await sweep({ ...upkept, queue });
    expect(await asked('image', id)).toBe(false);
  });

  it('skips a record that another process wrote first', async () => {
    const { id } = await create();
    now += HOUR + 1;
    const jobs = {
      ...upkept.jobs,
      async update(record: JobRecord, revision: number) {
        const stored = await upkept.jobs.get(record.id);
        if (stored !== undefined) await upkept.jobs.update({ ...stored.record, state: 'running', startedAt: now }, stored.revision);
        return upkept.jobs.update(record, revision);
      },
    };
    expect(await sweep({ ...upkept, jobs })).toMatchObject({ fail: 0, troubles: 0 });
    expect(await stateOf(id)).toBe('running');
  });

  it('goes on past a job that makes trouble', async () => {
    const records = [await create(), await create(), await create()];
    now += LOST_AFTER_MS + 1;
    let asked = 0;
    const queue = {
      ...upkept.queue,
      publish: (order: Parameters<typeof upkept.queue.publish>[0]) =>
        ++asked === 1 ? Promise.reject(new Error('no answer')) : upkept.queue.publish(order),
    };
    expect(await sweep({ ...upkept, queue })).toMatchObject({ publish: 2, troubles: 1 });
    expect(await upkept.queue.depth('image')).toMatchObject({ waiting: records.length - 1 });
  });

  it('removes the files of jobs that never came to be, and nothing that is not a job’s', async () => {
    const kept = await create();
    await upkept.queue.publish({ version: 1, jobId: kept.id, pool: kept.pool, lane: kept.lane });
    await put(inputKey(someId()));
    await put('uploads/shared');
    expect(await sweep(upkept)).toMatchObject({ orphaned: 0 });
    now += 4 * HOUR + 60_000;
    expect(await sweep({ ...upkept, queueMs: 24 * HOUR })).toMatchObject({ orphaned: 1 });
    expect(await keys()).toEqual([inputKey(kept.id), 'uploads/shared'].toSorted());
  });

  it('is held up by no record that it cannot read, of whatever kind', async () => {
    const damaged = await create();
    const batch = { version: 1 as const, createdAt: now, jobs: [someId()] };
    const ids = ['1', '2', '3'].map((digit) => `bat_${digit.repeat(16)}`);
    for (const id of ids) await upkept.batches.create({ ...batch, id });
    const record = { version: 1 as const, fingerprint: 'f'.repeat(64), resourceId: jobId(1), createdAt: now };
    for (const digit of ['1', '2']) await upkept.idempotency.claim({ ...record, key: digit.repeat(64) });
    const database = new DatabaseSync(join(folder, 'filemill.db'));
    database.exec(`UPDATE jobs SET record = '{' WHERE id = '${damaged.id}'; UPDATE batches SET record = '{' WHERE id = '${ids[0]}'`);
    database.exec(`UPDATE idempotency SET record = '{' WHERE key = '${'1'.repeat(64)}'`);
    database.close();
    const waiting = await create();
    await put(inputKey(someId()));
    now += 25 * HOUR;
    const passedOver: Error[] = [];
    const run = { ...upkept, unreadable: (found: Error) => void passedOver.push(found) };
    expect(await sweep(run)).toMatchObject({ fail: 1, orphaned: 1, batches: 2, idempotency: 2, troubles: 0 });
    expect(await stateOf(waiting.id)).toBe('error');
    expect(new Set(passedOver.map(String))).toHaveLength(1);
    // It is tried again an hour later, and its files stay.
    expect(await collect(upkept.jobs.due(now)).then((due) => due.map(({ id }) => id))).not.toContain(damaged.id);
    expect(await keys()).toContain(inputKey(damaged.id));
  });

  it('reads no record of a job that has ended and is tidy, nor of one that waits with its order', async () => {
    const ended = { state: 'done', endedAt: now, expiresAt: now + 2 * HOUR } as const;
    for (let n = 0; n < 100; n++) await upkept.jobs.create(aRecord({ createdAt: now, ...ended }));
    await sweep(upkept);
    const { id, pool, lane } = await create();
    await upkept.queue.publish({ version: 1, jobId: id, pool, lane });
    const lost = await create();
    now += LOST_AFTER_MS + 1;
    const asked = new Set<string>();
    const get = (one: string) => {
      asked.add(one);
      return upkept.jobs.get(one);
    };
    const jobs: Upkept['jobs'] = { ...upkept.jobs, get };
    const objects: Upkept['objects'] = { ...upkept.objects, async *scan() {} };
    expect(await sweep({ ...upkept, jobs, objects })).toMatchObject({ publish: 1 });
    expect([...asked]).toEqual([lost.id]);
  });

  it('looks through the objects a stretch at a time, and starts again at the end', async () => {
    for (let n = 0; n < 25; n++) await put(inputKey(jobId(n)));
    const walk = walkThrough(upkept.objects, 'jobs/', jobOfKey);
    const passed: string[] = [];
    for (let n = 0; n < 3; n++) {
      const { byOwner, listed, unknown } = await walk.next(10);
      passed.push(...byOwner.keys());
      expect([listed, unknown]).toEqual([passed.length, 2 * n]);
      walk.count(2);
    }
    expect(passed.toSorted()).toEqual(Array.from({ length: 25 }, (_, n) => jobId(n)));
    expect(await walk.next(10)).toMatchObject({ listed: 10, unknown: 0 });
    await walk.close();
  });

  it('forgets a batch with the last of its jobs', async () => {
    const { id } = await create();
    const batch = { version: 1 as const, id: `bat_${'0'.repeat(16)}`, createdAt: now, jobs: [id, someId()] };
    await upkept.batches.create(batch);
    now += 25 * HOUR;
    expect(await sweep(upkept)).toMatchObject({ batches: 0 });
    now += 25 * HOUR;
    await sweep(upkept);
    now += 25 * HOUR;
    await sweep(upkept);
    expect(await upkept.jobs.get(id)).toBeUndefined();
    expect(await upkept.batches.get(batch.id)).toBeUndefined();
  });

  it('ends what waits too long and orders again what was lost while the objects are out of reach, and forgets nothing', async () => {
    const waiting = await create({ createdAt: now - HOUR });
    const lost = await create();
    const old = await create({ state: 'done', endedAt: now - 30 * HOUR, expiresAt: now - 28 * HOUR });
    now += LOST_AFTER_MS + 1;
    const down = () => Promise.reject(new Error('no answer'));
    const objects: Upkept['objects'] = { ...upkept.objects, scan: () => ({ [Symbol.asyncIterator]: () => ({ next: down }) }) };
    expect(await sweep({ ...upkept, objects })).toMatchObject({ fail: 1, publish: 1, forget: 0, delete: 0, orphaned: 0, troubles: 1 });
    expect(await stateOf(waiting.id)).toBe('error');
    expect(await upkept.queue.has('image', lost.id)).toBe(true);
    expect(await stateOf(old.id)).toBe('done');
    expect(logged.join()).toContain('the objects cannot be listed');
  });

  it('keeps every file when the records are gone, and says so', async () => {
    for (let n = 0; n < 25; n++) await put(inputKey(someId()));
    now += 4 * HOUR + 60_000;
    expect(await sweep(upkept)).toMatchObject({ orphaned: 0 });
    expect(await keys()).toHaveLength(25);
    expect(logged.join()).toContain('None of these objects is deleted');
  });

  it('does not count the files of known jobs as orphans', async () => {
    for (let n = 0; n < 25; n++) await create({ state: 'running', attempt: 'a', startedAt: now + 5 * HOUR });
    now += 4 * HOUR + 60_000;
    await sweep(upkept);
    expect(logged).toEqual([]);
  });

  it('does not take a record for gone that the scan missed', async () => {
    const missed = await create({ state: 'running', attempt: 'a', startedAt: now });
    now += 4 * HOUR + 60_000;
    const jobs = { ...upkept.jobs, async *scan() {} };
    expect(await sweep({ ...upkept, jobs })).toMatchObject({ orphaned: 0 });
    expect(await keys()).toEqual([inputKey(missed.id)]);
  });

  it('starts at once, and leaves nothing running when told to stop', async () => {
    const { id } = await create();
    now += LOST_AFTER_MS + 1;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const upkeep = startUpkeep({ ...upkept, intervalMs: 3_600_000 });
      expect((await upkept.queue.pull('image', ['interactive'], 60_000))?.order.jobId).toBe(id);
      await upkeep.stop();
      expect(logged).toEqual(['upkeep']);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('runs again and again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const upkeep = startUpkeep({ ...upkept, intervalMs: 1_000 });
      const { id } = await create();
      now += LOST_AFTER_MS + 1;
      const pulled = upkept.queue.pull('image', ['interactive'], 60_000);
      while (!(await upkept.queue.has('image', id))) await vi.advanceTimersByTimeAsync(1_000);
      expect((await pulled)?.order.jobId).toBe(id);
      await upkeep.stop();
    } finally {
      vi.useRealTimers();
    }
  });

  it('runs in one process at a time', async () => {
    await create();
    now += LOST_AFTER_MS + 1;
    const answered = Promise.withResolvers<boolean>();
    const jobs: Upkept['jobs'] = {
      ...upkept.jobs,
      async withLock(...asked) {
        const ran = await upkept.jobs.withLock(...asked);
        answered.resolve(ran);
        return ran;
      },
    };
    await upkept.jobs.withLock('upkeep', 60_000, async () => {
      const upkeep = startUpkeep({ ...upkept, jobs, intervalMs: 3_600_000 });
      expect(await answered.promise).toBe(false);
      await upkeep.stop();
    });
    expect(await upkept.queue.depth('image')).toMatchObject({ waiting: 0 });
  });
});
