/** A write that lost in NATS, in the word of the job store. */
import { Outrun } from '../nats/bucket.ts';
import { Conflict } from './store.ts';

/** @throws Conflict in place of Outrun */
export const orConflict = <T>(write: Promise<T>): Promise<T> =>
  write.catch((error: unknown) => {
    throw error instanceof Outrun ? new Conflict(error.message, { cause: error }) : error;
  });
