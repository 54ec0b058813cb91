/** Keeps jobs, orders and files in agreement: one process at a time sweeps all three repeatedly. */
import type { UploadStore } from '../uploads/store.ts';
import { type SweepLog, sweeperOver, type Upkept } from './sweep.ts';
import { uploadSweeperOver } from './uploads.ts';

/** Longer than any put lasts, ms. */
const ABANDONED_MS = 24 * 3600_000;

/** A process that dies during a run blocks the others for this long, ms. */
const LOCK_MS = 60_000;

interface Settings {
  /** From the end of one run to the start of the next, ms. */
  readonly intervalMs: number;
  readonly queueMs?: number;
  readonly longestJobMs?: number;
  readonly aloneSince?: number | undefined;
  readonly maxOrphanShare?: number;
  /** Undefined if uploads are disabled. */
  readonly uploadRecords?: UploadStore;
  /** Aborts unfinished uploads in the object store that began before a time. @returns how many */
  readonly abandonUploads?: (before: number) => Promise<number>;
}

export interface Upkeep {
  /** Resolves when no run is active and none will start. */
  stop(): Promise<void>;
}

export type { SweepLog };

/** The first run begins at once, so that a restart repairs what a crash left. */
export function startUpkeep(
  given: Pick<Upkept, 'jobs' | 'batches' | 'idempotency' | 'queue' | 'objects' | 'clock' | 'log' | 'unreadable' | 'offer'> & Settings,
): Upkeep {
  const upkept: Upkept = { queueMs: 3_600_000, longestJobMs: 3_600_000, maxOrphanShare: 0.25, ...given };
  const { uploadRecords: uploads, abandonUploads } = given;
  const jobs = sweeperOver(upkept);
  const uploaded = uploads && uploadSweeperOver({ ...upkept, uploads });
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  const despite = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      upkept.log.warn({ err: error }, 'upkeep failed; the next run tries again');
    }
  };
  const run = async (): Promise<void> => {
    await despite(async () => {
      await upkept.jobs.withLock('upkeep', LOCK_MS, async () => {
        const tally = { ...(await jobs.run(stopping.signal)), uploads: 0, uploadOrphans: 0, abandoned: 0 };
        // A failure must not prevent the others.
        await despite(async () => {
          if (uploaded === undefined) return;
          const { expired, orphaned } = await uploaded.run(stopping.signal);
          Object.assign(tally, { uploads: expired, uploadOrphans: orphaned });
        });
        await despite(async () => {
          if (abandonUploads !== undefined) tally.abandoned = await abandonUploads(upkept.clock() - ABANDONED_MS);
        });
        if (Object.values(tally).some((count) => count > 0)) upkept.log.info(tally, 'upkeep');
      });
    });
    if (!stopping.signal.aborted) timer = setTimeout(again, given.intervalMs);
  };
  const again = () => {
    running = run();
  };
  let running = run();

  return {
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await running;
      await jobs.close();
      await uploaded?.close();
    },
  };
}
