/** A write that lost in NATS, in the word of the job store. */
import { inWordsOf } from '../nats/bucket.ts';
import { Conflict } from './store.ts';

export const orConflict = inWordsOf(Conflict);
