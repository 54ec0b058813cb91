/** The embedded store: one SQLite file and one folder, for one process. */
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import type { BatchStore } from '../../jobs/batch.ts';
import { type Encryption, encryptionWith, saltOf } from '../../jobs/encryption.ts';
import type { IdempotencyStore } from '../../jobs/idempotency.ts';
import { openSqliteBatches } from '../../jobs/sqlite/batches.ts';
import { openSqliteIdempotency } from '../../jobs/sqlite/idempotency.ts';
import { openSqliteJobs } from '../../jobs/sqlite/jobs.ts';
import type { Durability, JobStore } from '../../jobs/store.ts';
import type { ClientLimits } from '../../limits/limits.ts';
import { openSqliteLimits } from '../../limits/sqlite.ts';
import { openDirectory } from '../../objects/directory.ts';
import type { ObjectStore } from '../../objects/store.ts';
import { type StorageWatch, watchStorage } from '../../objects/watch.ts';
import type { Queue } from '../../queue/queue.ts';
import { type Room, roomOver } from '../../queue/room.ts';
import { openSqliteQueue } from '../../queue/sqlite.ts';
import { SharedDatabase } from '../../sqlite/shared.ts';
import { openSqliteUploads } from '../../uploads/sqlite.ts';
import type { UploadStore } from '../../uploads/store.ts';
import { type Uploads, uploadsOver } from '../../uploads/uploads.ts';
import { limitsOver } from '../process/limits.ts';
import type { UnreadableOf } from '../process/unreadable.ts';
import { keyFile, lockFolder, OBJECTS, openFolder, takeOverFolder } from './data-dir.ts';
import { deletingAfter } from './deleting.ts';

export interface Embedded {
  readonly durability: Durability;
  readonly jobs: JobStore;
  readonly batches: BatchStore;
  readonly idempotency: IdempotencyStore;
  readonly queue: Queue;
  readonly room: Room;
  readonly objects: ObjectStore;
  readonly storage: StorageWatch;
  readonly uploads: Uploads;
  readonly uploadRecords: UploadStore;
  readonly encryption: Encryption;
  readonly limits: ClientLimits;
  /** No other process has used the stores since: ms since the epoch. */
  readonly aloneSince: number;
  close(): Promise<void>;
}

/** @param version of this program @throws CannotStart when another process holds the data folder, it cannot be written, or a newer filemill wrote it */
export async function openEmbedded(config: Config, unreadable: UnreadableOf, clock: () => number, version: string): Promise<Embedded> {
  const { dataDir, secret, upkeep } = config;
  openFolder(dataDir);
  const unlock = lockFolder(dataDir);
  const aloneSince = clock();
  const database = new SharedDatabase(takeOverFolder(dataDir, version, clock()));
  const jobs = openSqliteJobs(database, clock, unreadable('job'), { exclusive: true });
  const batches = openSqliteBatches(database, unreadable('batch'));
  const idempotency = openSqliteIdempotency(database);
  const queue = openSqliteQueue(database, clock, { capacity: upkeep.queueCapacity, exclusive: true });
  const directory = await openDirectory(join(dataDir, OBJECTS));
  const storage = await watchStorage(dataDir, directory, config.storage);
  const objects = deletingAfter(directory, database);
  const keys = secret.key ?? [await keyFile(dataDir)];
  const salt = saltOf(keys, secret.salt);
  const clients = openSqliteLimits(database, clock, unreadable('client'));
  const uploadRecords = openSqliteUploads(database, unreadable('upload'));
  const uploads = uploadsOver(uploadRecords, objects, config.uploads, clock, config.limits.enabled);
  return {
    durability: database,
    jobs,
    batches,
    idempotency,
    queue,
    // Here a query costs next to nothing.
    room: roomOver(
      async (pool) => {
        const { waiting, held } = await queue.depth(pool);
        return waiting + held >= upkeep.queueCapacity;
      },
      { roomMs: 0, fullMs: 0 },
    ),
    objects,
    storage,
    uploads,
    uploadRecords,
    encryption: encryptionWith(keys, salt),
    limits: limitsOver(config, { store: clients, jobs, salt, clock, atHome: true }),
    aloneSince,
    async close() {
      storage.close();
      await uploads.idle();
      await queue.close();
      await uploadRecords.close();
      await clients.close();
      await idempotency.close();
      await batches.close();
      await jobs.close();
      database.close();
      unlock();
    },
  };
}
