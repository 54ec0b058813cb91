/**
 * Which jobs upkeep has to look at, beside the bucket of their records: an entry for each that has not ended, or has ended and was not tidied
 * up yet, and one for each whose files are to expire. An entry is written before the record that it is for, and removed after what it is for
 * was done, so that a crash between any two writes leaves one too many and never one too few.
 */
import type { Nats } from '../../nats/connection.ts';
import { ensureStream } from '../../nats/ensure.ts';
import { tokenOf } from '../../nats/token.ts';
import { isFull, Unavailable } from '../../nats/unavailable.ts';
import type { JobRecord } from '../record.ts';

/** `open`: at every run. `later`: at a time, some hours ahead for all of them. */
export type Stage = 'open' | 'later';

export interface AgendaEntry {
  readonly stage: Stage;
  /** When the job was created, or is to be looked at again: ms since the epoch. */
  readonly time: number;
  readonly pool: string;
  readonly id: string;
  /** Above its number in the stream, and not above that of any later one of the same subject. */
  readonly before: number;
}

export interface Agenda {
  /** Again is no error. @throws RangeError where a name cannot be part of a subject */
  add(entry: Omit<AgendaEntry, 'before'>): Promise<void>;
  /** Removes an entry, unless it was added again since it was read. */
  remove(entry: AgendaEntry): Promise<void>;
  has(entry: Omit<AgendaEntry, 'before'>): Promise<boolean>;
  /** Every open one, by one question. */
  open(): Promise<readonly AgendaEntry[]>;
  /** Those of the stage `later` whose time has come. */
  later(now: number): AsyncIterable<AgendaEntry>;
  /** Whether every record that was there before the agenda has been entered. */
  isComplete(): Promise<boolean>;
  setComplete(): Promise<void>;
}

/** A bucket in name, so that whoever may write records may write these. */
const STREAM = 'KV_due';
const PREFIX = '$KV.due.';
const COMPLETE = `${PREFIX}complete`;
/** As long as records. */
const KEPT_MS = 7 * 24 * 3600_000;
const NANOS = 1_000_000;
/** Entries are in the order of their times but for clocks that differ: so many that are not due may stand before one that is. */
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
    // Any replica may answer a direct read, with what was true a while ago.
    allow_direct: false,
  });

export function openAgenda({ manager, client, withRetry }: Nats): Agenda {
  const subjectOf = ({ stage, time, pool, id }: Omit<AgendaEntry, 'before'>): string =>
    `${PREFIX}${stage}.${time}.${tokenOf(pool)}.${tokenOf(id)}`;

  async function write(subject: string): Promise<void> {
    try {
      await withRetry('to note what is due', () => client.publish(subject, ''));
    } catch (error) {
      throw isFull(error) ? new Unavailable('to note what is due, for which there is no room', error) : error;
    }
  }
  /** Subjects are given whole: to look for one by a pattern takes the server a walk through all of them. */
  const last = (subject: string) =>
    withRetry('to look for what is due', () => manager.streams.getMessage(STREAM, { last_by_subj: subject }));

  return {
    add: async (entry) => write(subjectOf(entry)),

    async remove(entry) {
      const seq = (await last(subjectOf(entry)))?.seq;
      if (seq === undefined || seq >= entry.before) return;
      try {
        await withRetry('to remove what was due', () => manager.streams.deleteMessage(STREAM, seq, false));
      } catch (error) {
        // Removed meanwhile, or added anew.
        if ((await last(subjectOf(entry)))?.seq === seq) throw error;
      }
    },

    has: async (entry) => (await last(subjectOf(entry))) !== null,

    async open() {
      const ask = () => manager.streams.info(STREAM, { subjects_filter: `${PREFIX}open.>` });
      const { state } = await withRetry('to list what is due', ask);
      return Object.keys(state.subjects ?? {}).flatMap((subject) => entryIn(subject, state.last_seq + 1) ?? []);
    },

    async *later(now) {
      let ahead = 0;
      for (let seq = 1; ahead < LOOK_AHEAD; ) {
        const query = { seq, next_by_subj: `${PREFIX}later.>` };
        const message = await withRetry('to read what is due', () => manager.streams.getMessage(STREAM, query));
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

/** The one of a job that has not ended, or was not tidied up yet. */
export const openEntry = ({ pool, id, createdAt }: Pick<JobRecord, 'pool' | 'id' | 'createdAt'>) =>
  ({ stage: 'open', time: createdAt, pool, id }) as const;

function entryIn(subject: string, before: number): AgendaEntry | undefined {
  const [stage, time, pool, id] = subject.slice(PREFIX.length).split('.');
  if ((stage !== 'open' && stage !== 'later') || pool === undefined || id === undefined) return undefined;
  return { stage, time: Number(time), pool, id, before };
}
