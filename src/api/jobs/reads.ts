/** Shares one read of a job's record among all requests that wait for it: the store's cost is the same for one waiting request or a thousand. */
import { setImmediate } from 'node:timers/promises';
import type { JobRecord } from '../../jobs/record.ts';
import type { JobStore } from '../../jobs/store.ts';

export interface JobReader {
  /** @param record the latest, perhaps unchanged; undefined where it is gone */
  readonly read: (record: JobRecord | undefined) => void;
  readonly failed: (error: unknown) => void;
}

export interface JobReads {
  /** The first read begins after this call. @returns unsubscribe; calling it twice is no error */
  subscribe(id: string, reader: JobReader): () => void;
  /** Reads soon, for all who wait for this job. */
  refresh(id: string): void;
}

/** A change hint may be lost: the record is read at least this often, ms. Hints are rarely lost, so the pauses grow from the first to the last. */
const PAUSES_MS = [1_000, 2_000, 3_000, 5_000];
const TICK_MS = 500;
/** Reads without a hint that are under way at a time. */
const MOST_LOOKS = 16;
/** How many readers are called back before the event loop gets a turn. */
const TOLD_AT_ONCE = 50;

interface Followed {
  readonly id: string;
  /** Each with the number of the first read that it may get. */
  readonly readers: Map<JobReader, number>;
  readonly unwatch: () => void;
  reads: number;
  isReading: boolean;
  isWanted: boolean;
  /** How many reads in a row found no change. */
  looks: number;
  lookAt: number;
}

const byStore = new WeakMap<JobStore, JobReads>();

/** The reads of this store. */
export function readsOf(jobs: JobStore): JobReads {
  const known = byStore.get(jobs) ?? createReads(jobs);
  byStore.set(jobs, known);
  return known;
}

function createReads(jobs: JobStore): JobReads {
  const followed = new Map<string, Followed>();
  let timer: NodeJS.Timeout | undefined;

  const lookLater = (job: Followed) => {
    job.lookAt = performance.now() + (PAUSES_MS[Math.min(job.looks, PAUSES_MS.length - 1)] ?? TICK_MS);
  };

  const tell = async (job: Followed, number: number, say: (reader: JobReader) => void): Promise<void> => {
    let told = 0;
    for (const [reader, from] of [...job.readers]) {
      // A reader that subscribed during the read may know of a newer change: it gets the next one.
      if (from > number || !job.readers.has(reader)) continue;
      say(reader);
      if (++told % TOLD_AT_ONCE === 0) await setImmediate();
    }
  };

  const readOnce = async (job: Followed): Promise<void> => {
    const number = ++job.reads;
    lookLater(job);
    let say: (reader: JobReader) => void;
    try {
      const record = (await jobs.get(job.id))?.record;
      say = ({ read }) => read(record);
    } catch (error) {
      say = ({ failed }) => failed(error);
    }
    await tell(job, number, say);
  };

  const refresh = (job: Followed): void => {
    job.isWanted = true;
    if (job.isReading) return;
    job.isReading = true;
    void (async () => {
      while (job.isWanted && job.readers.size > 0) {
        job.isWanted = false;
        await readOnce(job);
      }
      job.isReading = false;
    })();
  };

  const lookAround = () => {
    const now = performance.now();
    let reading = [...followed.values()].filter(({ isReading }) => isReading).length;
    for (const job of followed.values()) {
      if (reading >= MOST_LOOKS) return;
      if (job.isReading || job.lookAt > now) continue;
      reading++;
      job.looks++;
      refresh(job);
    }
  };

  const follow = (id: string): Followed => {
    const job: Followed = {
      id,
      readers: new Map(),
      unwatch: jobs.watch(id, () => {
        job.looks = 0;
        refresh(job);
      }),
      reads: 0,
      isReading: false,
      isWanted: false,
      looks: 0,
      lookAt: 0,
    };
    followed.set(id, job);
    timer ??= setInterval(lookAround, TICK_MS);
    return job;
  };

  return {
    subscribe(id, reader) {
      const job = followed.get(id) ?? follow(id);
      job.readers.set(reader, job.reads + 1);
      refresh(job);
      return () => {
        job.readers.delete(reader);
        if (job.readers.size > 0 || followed.get(id) !== job) return;
        followed.delete(id);
        job.unwatch();
        if (followed.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    refresh(id) {
      const job = followed.get(id);
      if (job !== undefined) refresh(job);
    },
  };
}
