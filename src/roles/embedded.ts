/** The embedded store: one SQLite file and one folder, for one process. */
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
import { keyFile, lockFolder, openFolder } from './data-dir.ts';

export interface Embedded {
  readonly jobs: JobStore;
  readonly queue: Queue;
  readonly objects: ObjectStore;
  readonly seal: Seal;
  /** No other process has used the stores since: ms since the epoch. */
  readonly aloneSince: number;
  close(): Promise<void>;
}

/** @throws CannotStart when another process holds the data folder, or it cannot be written */
export async function openEmbedded({ dataDir, secret, upkeep }: Config, log: Log, clock: () => number): Promise<Embedded> {
  await openFolder(dataDir);
  const unlock = lockFolder(dataDir);
  const aloneSince = clock();
  const database = join(dataDir, 'filemill.db');
  const unreadable = (err: Error) => log.error({ err }, 'a stored job cannot be read');
  const jobs = openJobs(database, clock, unreadable, { exclusive: true });
  const queue = openQueue(database, clock, { capacity: upkeep.queueCapacity, exclusive: true });
  const objects = await openDirectory(join(dataDir, 'objects'));
  const seal = sealWith(secret.key ?? (await keyFile(dataDir)));
  return {
    jobs,
    queue,
    objects,
    seal,
    aloneSince,
    async close() {
      await queue.close();
      await jobs.close();
      unlock();
    },
  };
}
