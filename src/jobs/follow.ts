/** Notices when a job gets somewhere, for processes that have something to do then, and keeps count of what they do. */
import type { JobRecord } from './record.ts';
import type { JobStore, Stored } from './store.ts';

/** Jobs that one process follows for one purpose; upkeep finds the others. */
const MOST_FOLLOWED = 10_000;
/** Attempts that one process waits to make; upkeep finds the others. */
const MOST_TIMERS = 10_000;

export interface Followed {
  /** From now on, until it has got there, or is gone. */
  follow(id: string): void;
  /** Counts work on a job, which `stop` waits for. @returns resolves when it has ended, whether or not it failed */
  track(work: Promise<void>, id: string): Promise<void>;
  /** Looks at a job after `ms`, for its next attempt. Upkeep does as well, but less often. */
  again(id: string, ms: number): void;
  /** Aborted by `stop`. */
  readonly stopping: AbortSignal;
  /** Nothing is begun any more. @returns resolves when all work has ended */
  stop(): Promise<void>;
}

interface FollowDeps {
  readonly jobs: Pick<JobStore, 'get' | 'watch'>;
  readonly isThere: (record: JobRecord) => boolean;
  /** Given a job once that has got there, and each for which `again` has looked. */
  readonly offer: (stored: Stored) => void;
  /** Work on a job failed: its lease ends soon, and upkeep offers it again. */
  readonly failed: (id: string, error: unknown) => void;
}

export function followJobs({ jobs, isThere, offer, failed }: FollowDeps): Followed {
  const followed = new Map<string, () => void>();
  const running = new Set<Promise<void>>();
  /** By job, for the next attempt. */
  const timers = new Map<string, NodeJS.Timeout>();
  const stopping = new AbortController();

  const unfollow = (id: string): void => {
    followed.get(id)?.();
    followed.delete(id);
  };

  const track = (work: Promise<void>, id: string): Promise<void> => {
    const tracked = work.catch((error: unknown) => failed(id, error)).finally(() => running.delete(tracked));
    running.add(tracked);
    return tracked;
  };

  async function look(id: string): Promise<void> {
    const stored = await jobs.get(id);
    if (stored !== undefined && !isThere(stored.record)) return;
    unfollow(id);
    if (stored !== undefined) offer(stored);
  }

  async function lookAgain(id: string): Promise<void> {
    timers.delete(id);
    const stored = await jobs.get(id);
    if (stored !== undefined) offer(stored);
  }

  return {
    stopping: stopping.signal,
    track,
    follow(id) {
      if (stopping.signal.aborted || followed.has(id) || followed.size >= MOST_FOLLOWED) return;
      let isLooking = false;
      let isWanted = false;
      const changed = (): void => {
        isWanted = true;
        if (isLooking) return;
        isLooking = true;
        const work = async () => {
          while (isWanted && followed.has(id)) {
            isWanted = false;
            await look(id);
          }
        };
        const ended = () => {
          isLooking = false;
        };
        void track(work().finally(ended), id);
      };
      followed.set(id, jobs.watch(id, changed));
      changed();
    },
    again(id, ms) {
      if (stopping.signal.aborted || timers.size >= MOST_TIMERS) return;
      clearTimeout(timers.get(id));
      timers.set(
        id,
        setTimeout(() => void track(lookAgain(id), id), Math.max(1, ms)),
      );
    },
    async stop() {
      stopping.abort(new Error('the process stops'));
      for (const timer of timers.values()) clearTimeout(timer);
      for (const id of [...followed.keys()]) unfollow(id);
      while (running.size > 0) await Promise.all(running);
    },
  };
}
