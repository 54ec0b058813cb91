/** Notices when a job gets somewhere, for processes that have something to do then. */
import type { JobRecord } from './record.ts';
import type { JobStore, Stored } from './store.ts';

/** Jobs that one process follows for one purpose; upkeep finds the others. */
const MOST_FOLLOWED = 10_000;

export interface Followed {
  /** From now on, until it has got there, or is gone. */
  follow(id: string): void;
  stop(): void;
}

interface FollowDeps {
  readonly jobs: Pick<JobStore, 'get' | 'watch'>;
  readonly isThere: (record: JobRecord) => boolean;
  /** Called once for a job that has got there. */
  readonly arrived: (stored: Stored) => void;
  /** Handles the failure of a look. */
  readonly track: (work: Promise<void>, id: string) => unknown;
}

export function followJobs({ jobs, isThere, arrived, track }: FollowDeps): Followed {
  const followed = new Map<string, () => void>();
  let isStopped = false;

  const unfollow = (id: string): void => {
    followed.get(id)?.();
    followed.delete(id);
  };

  async function look(id: string): Promise<void> {
    const stored = await jobs.get(id);
    if (stored !== undefined && !isThere(stored.record)) return;
    unfollow(id);
    if (stored !== undefined) arrived(stored);
  }

  return {
    follow(id) {
      if (isStopped || followed.has(id) || followed.size >= MOST_FOLLOWED) return;
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
        track(work().finally(ended), id);
      };
      followed.set(id, jobs.watch(id, changed));
      changed();
    },
    stop() {
      isStopped = true;
      for (const id of [...followed.keys()]) unfollow(id);
    },
  };
}
