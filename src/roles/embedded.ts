/** The embedded store: one SQLite file and one folder, for one process. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { type Seal, sealWith } from '../jobs/seal.ts';
import { openJobs } from '../jobs/sqlite.ts';
import type { JobStore } from '../jobs/store.ts';
import { openDirectory } from '../objects/directory.ts';
import type { ObjectStore } from '../objects/store.ts';
import type { Queue } from '../queue/queue.ts';
import { openQueue } from '../queue/sqlite.ts';
import type { Log } from '../telemetry/log.ts';
import { keyFile, lockFolder } from './data-dir.ts';

export interface Embedded {
  readonly jobs: JobStore;
  readonly queue: Queue;
  readonly objects: ObjectStore;
  readonly seal: Seal;
  close(): Promise<void>;
}

/** @throws when another process holds the data folder */
export async function openEmbedded({ dataDir, secret, upkeep }: Config, log: Log, clock: () => number): Promise<Embedded> {
  await mkdir(dataDir, { recursive: true, mode: 0o755 });
  const unlock = lockFolder(dataDir);
  const database = join(dataDir, 'filemill.db');
  const jobs = openJobs(database, clock, (err) => log.error({ err }, 'a stored job cannot be read'));
  const queue = openQueue(database, clock, { capacity: upkeep.queueCapacity, exclusive: true });
  const objects = await openDirectory(join(dataDir, 'objects'));
  const seal = sealWith(secret.key ?? (await keyFile(dataDir)));
  return {
    jobs,
    queue,
    objects,
    seal,
    async close() {
      await queue.close();
      await jobs.close();
      unlock();
    },
  };
}
