/** The embedded store: one SQLite file and one folder, for one process. */
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import type { BatchStore } from '../../jobs/batch.ts';
import { type Encryption, encryptionWith, saltOf } from '../../jobs/encryption.ts';
import type { IdempotencyStore } from '../../jobs/idempotency.ts';
import { openBatches } from '../../jobs/sqlite/batches.ts';
import { openIdempotency } from '../../jobs/sqlite/idempotency.ts';
import { openJobs } from '../../jobs/sqlite/jobs.ts';
import type { JobStore } from '../../jobs/store.ts';
import type { ClientLimits } from '../../limits/limits.ts';
import { openLimits } from '../../limits/sqlite.ts';
import { openDirectory } from '../../objects/directory.ts';
import type { ObjectStore } from '../../objects/store.ts';
import { type StorageWatch, watchStorage } from '../../objects/watch.ts';
import type { Queue } from '../../queue/queue.ts';
import { type Room, roomOver } from '../../queue/room.ts';
import { openQueue } from '../../queue/sqlite.ts';
import { openUploads } from '../../uploads/sqlite.ts';
import type { UploadStore } from '../../uploads/store.ts';
import { type Uploads, uploadsOver } from '../../uploads/uploads.ts';
import { limitsOver } from '../process/limits.ts';
import type { UnreadableOf } from '../process/unreadable.ts';
import { keyFile, lockFolder, openFolder } from './data-dir.ts';

export interface Embedded {
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

/** @throws CannotStart when another process holds the data folder, or it cannot be written */
export async function openEmbedded(config: Config, unreadable: UnreadableOf, clock: () => number): Promise<Embedded> {
  const { dataDir, secret, upkeep } = config;
  openFolder(dataDir);
  const unlock = lockFolder(dataDir);
  const aloneSince = clock();
  const database = join(dataDir, 'filemill.db');
  const jobs = openJobs(database, clock, unreadable('job'), { exclusive: true });
  const batches = openBatches(database, unreadable('batch'));
  const idempotency = openIdempotency(database);
  const queue = openQueue(database, clock, { capacity: upkeep.queueCapacity, exclusive: true });
  const objects = await openDirectory(join(dataDir, 'objects'));
  const storage = await watchStorage(dataDir, objects, config.storage);
  const keys = secret.key ?? [await keyFile(dataDir)];
  const salt = saltOf(keys, secret.salt);
  const clients = openLimits(database, clock, unreadable('client'));
  const uploadRecords = openUploads(database, unreadable('upload'));
  const uploads = uploadsOver(uploadRecords, objects, config.uploads, clock, config.limits.enabled);
  return {
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
      unlock();
    },
  };
}
