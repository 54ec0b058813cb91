/** What a run of upkeep costs where much is kept and little is due. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ensureBatches } from '../src/jobs/nats/batches.ts';
import { ensureIdempotency } from '../src/jobs/nats/idempotency.ts';
import { ensureJobs } from '../src/jobs/nats/jobs.ts';
import type { JobRecord } from '../src/jobs/record.ts';
import { openSqliteJobs } from '../src/jobs/sqlite/jobs.ts';
import { openDirectory } from '../src/objects/directory.ts';
import { inputKey, outputKey } from '../src/objects/keys.ts';
import { openS3 } from '../src/objects/s3/store.ts';
import type { ObjectStore } from '../src/objects/store.ts';
import { ensurePool } from '../src/queue/nats/pool.ts';
import { openNatsQueue } from '../src/queue/nats/queue.ts';
import type { Queue } from '../src/queue/queue.ts';
import { openSqliteQueue } from '../src/queue/sqlite.ts';
import { aRecord, streamOf } from '../test/conformance/samples.ts';
import { runningBelow } from '../test/kit/exec/processes.ts';
import { startNats } from '../test/kit/nats/nats.ts';
import { startMinio } from '../test/kit/objects/minio.ts';
import { startChild } from './child.ts';
import { cpuOf } from './cpu.ts';
import { GOAL_HEAD, goalRow, sizeOf } from './rows.ts';
import type { Kept, Swept } from './sweeper.ts';

const HOUR = 3_600_000;
const KEPT = sizeOf('BENCH_KEPT', 500_000);
/** Jobs that wait with their order. */
const WAITING = 1_000;
/** Of a hundred that are due: with files to delete at their expiry, just ended with an input, and tombstones to remove. */
const [EXPIRING, ENDED, FORGOTTEN] = [50, 20, 30];

/** When each is due next, beside its record: 0 for at once. */
interface Planned {
  readonly record: JobRecord;
  readonly dueAt: number;
}

function* planned(now: number): Generator<Planned> {
  const done = (endedAt: number): JobRecord => {
    const record = aRecord({ createdAt: endedAt, state: 'done', attempt: 'a', attempts: 1, endedAt, expiresAt: endedAt + 2 * HOUR });
    const output = { key: outputKey(record.id, 'a'), filename: 'f.jpg', sizeBytes: 1, contentType: 'image/jpeg', sha256: '', files: 1 };
    return { ...record, output };
  };
  const goneAt = ({ expiresAt }: JobRecord) => expiresAt + 24 * HOUR;
  const oldest = (record: JobRecord): Planned => ({ record, dueAt: goneAt(record) });
  for (let n = 0; n < FORGOTTEN; n++) yield oldest(done(now - 26 * HOUR - 1_000));
  // In the order in which they ended, as they are where they have been for a day: one in thirteen is still served.
  for (let n = 0; n < KEPT; n++) {
    const record = done(now - 25.9 * HOUR + (n / KEPT) * 25.8 * HOUR);
    const rounded = {
      ...record,
      createdAt: Math.round(record.createdAt),
      endedAt: Math.round(record.endedAt ?? 0),
      expiresAt: Math.round(record.expiresAt),
    };
    yield { record: rounded, dueAt: rounded.expiresAt > now ? rounded.expiresAt : goneAt(rounded) };
  }
  for (let n = 0; n < EXPIRING; n++) {
    const record = done(now - 2 * HOUR - 1_000);
    yield { record, dueAt: record.expiresAt };
  }
  for (let n = 0; n < ENDED; n++) yield { record: done(now - 1_000), dueAt: 0 };
  for (let n = 0; n < WAITING; n++) yield { record: aRecord({ createdAt: now, expiresAt: now + 2 * HOUR }), dueAt: 0 };
}

async function putFiles(records: readonly JobRecord[], objects: ObjectStore, queue: Queue): Promise<void> {
  for (const { id, output, state, pool, lane } of records) {
    const key = state === 'done' ? output?.key : inputKey(id);
    if (key !== undefined) await objects.put(key, streamOf(Buffer.from('x')), 1);
    if (state === 'queued') await queue.publish({ version: 1, jobId: id, pool, lane });
    else await objects.put(inputKey(id), streamOf(Buffer.from('x')), 1);
  }
}

async function measure(what: string, kept: Kept, cpuOfServer: () => number): Promise<void> {
  const sweeper = await startChild('sweeper.ts', kept);
  try {
    for (const [when, goal] of [
      ['100 due', 'under 1 s of CPU'],
      ['nothing due, the run after', ''],
    ] as const) {
      const before = cpuOfServer();
      const { tally, cpuMs, tookMs, grownBytes } = await sweeper.ask<Swept>({});
      const server = cpuOfServer() - before;
      const beside = server > 0 ? `, ${(server / 1_000).toFixed(2)} s in the NATS server` : '';
      const done = `deleted ${tally.delete}, forgot ${tally.forget}, troubles ${tally.troubles}`;
      goalRow(
        `upkeep, ${what}: ${KEPT.toLocaleString('en')} records kept, ${WAITING.toLocaleString('en')} waiting, ${when}`,
        goal,
        `${(cpuMs / 1_000).toFixed(2)} s of CPU${beside}; took ${(tookMs / 1_000).toFixed(2)} s, grew by ${grownBytes >> 20} MiB (${done})`,
      );
    }
  } finally {
    await sweeper.end();
  }
}

/** Those whose files are put too. */
const withFiles = ({ record, dueAt }: Planned, now: number): boolean =>
  dueAt <= now && record.endedAt !== undefined && record.expiresAt > now - HOUR;

async function embedded(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'filemill-upkeep-'));
  const now = Date.now();
  const path = join(folder, 'filemill.db');
  const queue = openSqliteQueue(path, Date.now, { capacity: 100_000 });
  await openSqliteJobs(path, Date.now).close();
  const database = new DatabaseSync(path);
  const insert = database.prepare('INSERT INTO jobs (id, record, due_at) VALUES (?, ?, ?)');
  const files: JobRecord[] = [];
  database.exec('BEGIN');
  for (const one of planned(now)) {
    insert.run(one.record.id, JSON.stringify(one.record), one.dueAt);
    if (one.record.state === 'queued' || withFiles(one, now)) files.push(one.record);
  }
  database.exec('COMMIT');
  database.close();
  await putFiles(files, await openDirectory(join(folder, 'objects')), queue);
  await queue.close();
  await measure('one machine', { folder }, () => 0);
  await rm(folder, { recursive: true });
}

async function overNats(): Promise<void> {
  const [servers, minio] = await Promise.all([startNats(1, {}, { max_file_store: 4 * 2 ** 30 }), startMinio()]);
  try {
    const nats = await servers.connect();
    for (const ensure of [ensureJobs, ensureBatches, ensureIdempotency]) await ensure(nats, 1);
    await ensurePool(nats, 'image', { capacity: 100_000, replicas: 1 });
    const now = Date.now();
    const files: JobRecord[] = [];
    let sent = 0;
    for (const one of planned(now)) {
      const { id, createdAt } = one.record;
      nats.core.publish(`$KV.jobs.image.${id}`, JSON.stringify(one.record));
      if (one.dueAt === 0) nats.core.publish(`$KV.due.open.${createdAt}.image.${id}`, '');
      else if (one.dueAt === one.record.expiresAt) nats.core.publish(`$KV.due.later.${one.dueAt}.image.${id}`, '');
      if (one.record.state === 'queued' || withFiles(one, now)) files.push(one.record);
      if (++sent % 2_000 === 0) await nats.core.flush();
    }
    await nats.client.publish('$KV.due.complete', '');
    const bucket = minio.settings();
    await putFiles(files, await openS3(bucket), openNatsQueue(nats));
    const [server = 0] = runningBelow('nats-server', 'server.conf');
    await measure('NATS and MinIO', { servers: servers.addresses, bucket }, () => cpuOf(server));
  } finally {
    await Promise.all([servers.stop(), minio.stop()]);
  }
}

export async function upkeep(): Promise<void> {
  console.log(`\n${GOAL_HEAD}`);
  await embedded();
  await overNats();
}
