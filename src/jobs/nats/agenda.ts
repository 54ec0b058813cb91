/**
 * Which jobs upkeep must check, stored beside the bucket of their records: an entry for each that has not ended or was not cleaned up yet,
 * and one for each whose files will expire. An entry is written before its record, and removed after its work is done, so that a crash
 * between any two writes leaves one too many and never one too few.
 */
import type { Nats } from '../../nats/connection.ts';
import { ensureStream } from '../../nats/ensure.ts';
import { tokenOf } from '../../nats/token.ts';
import { isFull, Unavailable } from '../../nats/unavailable.ts';
import type { JobRecord } from '../record.ts';

/** `open`: due at every run. `soon`: due at its time, in no order. `later`: due at its time, all of them about as far ahead. */
export type Stage = 'open' | 'soon' | 'later';

export interface AgendaEntry {
  readonly stage: Stage;
  /** When the job was created, or must be checked again: ms since the epoch. */
  readonly time: number;
  readonly pool: string;
  readonly id: string;
  /** Above its sequence number, and not above that of any later message of the same subject. */
  readonly before: number;
}

export interface Agenda {
  /** Adding an entry again is no error. @throws RangeError if a name cannot be part of a subject */
  add(entry: Omit<AgendaEntry, 'before'>): Promise<void>;
  /** Removes an entry, unless it was added again since it was read. */
  remove(entry: AgendaEntry): Promise<void>;
  has(entry: Omit<AgendaEntry, 'before'>): Promise<boolean>;
  /** Every open entry, by one request. */
  open(): Promise<readonly AgendaEntry[]>;
  /** Entries of the stage `soon` that are due, by one request. */
  soon(now: number): Promise<readonly AgendaEntry[]>;
  /** Entries of the stage `later` that are due. */
  later(now: number): AsyncIterable<AgendaEntry>;
  /** Whether every record from before the agenda has an entry. */
  isComplete(): Promise<boolean>;
  setComplete(): Promise<void>;
}

/** Named like a bucket, so that permission to write records covers these too. */
const STREAM = 'KV_due';
const PREFIX = '$KV.due.';
const COMPLETE = `${PREFIX}complete`;
/** As long as records, ms. */
const KEPT_MS = 7 * 24 * 3600_000;
const NANOS = 1_000_000;
/** Entries are ordered by time except where clocks differ: this many that are not due may come before one that is. */
const LOOK_AHEAD = 64;

/** @param replicas 1, 3 or 5 @throws Mismatch · Unavailable */
export const ensureAgenda = (nats: Nats, replicas: number): Promise<void> =>
  ensureStream(nats, {
    name: STREAM,
    subjects: [`${PREFIX}>`],
    storage: 'file',
    retention: 'limits',
    num_replicas: replicas,
    max_msgs_per_subject: 1,
    max_msg_size: 1_024,
    max_age: KEPT_MS * NANOS,
    discard: 'old',
    // Any replica may answer a direct read, and it may be behind.
    allow_direct: false,
  });

export function openAgenda({ manager, client, withRetry }: Nats): Agenda {
  const subjectOf = ({ stage, time, pool, id }: Omit<AgendaEntry, 'before'>): string =>
    `${PREFIX}${stage}.${time}.${tokenOf(pool)}.${tokenOf(id)}`;

  async function write(subject: string): Promise<void> {
    try {
      await withRetry('to store a due time', () => client.publish(subject, ''));
    } catch (error) {
      throw isFull(error) ? new Unavailable('to store a due time, for lack of space', error) : error;
    }
  }
  /** All of a stage. An older filemill takes no notice of stages that it does not know. */
  const listed = async (stage: Stage): Promise<readonly AgendaEntry[]> => {
    const ask = () => manager.streams.info(STREAM, { subjects_filter: `${PREFIX}${stage}.>` });
    const { state } = await withRetry('to list due times', ask);
    return Object.keys(state.subjects ?? {}).flatMap((subject) => entryIn(subject, state.last_seq + 1) ?? []);
  };
  /** Takes a complete subject: for a wildcard the server would scan all of them. */
  const last = (subject: string) => withRetry('to look up due times', () => manager.streams.getMessage(STREAM, { last_by_subj: subject }));

  return {
    add: async (entry) => write(subjectOf(entry)),

    async remove(entry) {
      const seq = (await last(subjectOf(entry)))?.seq;
      if (seq === undefined || seq >= entry.before) return;
      try {
        await withRetry('to remove a due time', () => manager.streams.deleteMessage(STREAM, seq, false));
      } catch (error) {
        // Removed meanwhile, or added again.
        if ((await last(subjectOf(entry)))?.seq === seq) throw error;
      }
    },

    has: async (entry) => (await last(subjectOf(entry))) !== null,

    open: () => listed('open'),
    soon: async (now) => (await listed('soon')).filter(({ time }) => time <= now),

    async *later(now) {
      let ahead = 0;
      for (let seq = 1; ahead < LOOK_AHEAD; ) {
        const query = { seq, next_by_subj: `${PREFIX}later.>` };
        const message = await withRetry('to read due times', () => manager.streams.getMessage(STREAM, query));
        if (message === null) return;
        seq = message.seq + 1;
        const entry = entryIn(message.subject, seq);
        if (entry !== undefined && entry.time <= now) {
          ahead = 0;
          yield entry;
        } else ahead++;
      }
    },

    isComplete: async () => (await last(COMPLETE)) !== null,
    setComplete: () => write(COMPLETE),
  };
}

/** The entry of a job that has not ended or was not cleaned up yet. */
export const openEntry = ({ pool, id, createdAt }: Pick<JobRecord, 'pool' | 'id' | 'createdAt'>) =>
  ({ stage: 'open', time: createdAt, pool, id }) as const;

function entryIn(subject: string, before: number): AgendaEntry | undefined {
  const [stage, time, pool, id] = subject.slice(PREFIX.length).split('.');
  if ((stage !== 'open' && stage !== 'soon' && stage !== 'later') || pool === undefined || id === undefined) return undefined;
  return { stage, time: Number(time), pool, id, before };
}
