/** Jobs that upkeep must check in NATS: from the agenda, from the oldest records, and slowly from all records. */
import type { Bucket, BucketEntry } from '../../nats/bucket.ts';
import { oldestIn } from '../../nats/oldest.ts';
import { hasEnded, RETENTION_MS, visibility } from '../lifecycle.ts';
import type { JobRecord } from '../record.ts';
import type { Due } from '../store.ts';
import { type Agenda, type AgendaEntry, openEntry, type Stage } from './agenda.ts';

interface DueDeps {
  readonly bucket: Bucket;
  readonly agenda: Agenda;
  /** Undefined for an entry that cannot be read: it has been reported. */
  readonly recordIn: (entry: BucketEntry) => JobRecord | undefined;
}

/** A record settled for longer is a tombstone, ms: it needs no entry, as it becomes one of the oldest records. */
const LONGEST_ENTRY_MS = 2 * RETENTION_MS;
/** An entry for a time nearer than this stands in no order, ms: those of the others are about as far ahead as files are kept. */
const SOON_MS = RETENTION_MS / 2;
/** Records checked at each call for a missing entry: written by an older filemill beside us, or in a restored store. */
const CHECKED = 100;
/** The same while there are records from before the agenda. */
const CHECKED_AT_FIRST = 5_000;

/** @returns `JobStore.due` */
export function dueOver({ bucket, agenda, recordIn }: DueDeps): (now: number) => AsyncGenerator<Due> {
  /** How far the records have been checked. */
  let from = 0;
  let complete: boolean | undefined;

  const dueOf = ({ pool, id }: { readonly pool: string; readonly id: string }, now: number, entry?: AgendaEntry): Due => ({
    id,
    pool,
    createdAt: entry?.stage === 'open' ? entry.time : 0,
    async settle(until) {
      if (until !== undefined && until - now <= LONGEST_ENTRY_MS) {
        const stage = until - now < SOON_MS ? 'soon' : 'later';
        await agenda.add({ stage, time: until, pool, id });
      }
      if (entry !== undefined) await agenda.remove(entry);
    },
  });

  const isEntered = async (record: JobRecord): Promise<boolean> => {
    const hasAt = (stage: Stage, time: number) => agenda.has({ ...openEntry(record), stage, time });
    if (!hasEnded(record)) return agenda.has(openEntry(record));
    const { expiresAt, webhook } = record;
    if (await hasAt('later', expiresAt)) return true;
    if (webhook !== undefined && ((await hasAt('soon', webhook.nextAt)) || (await hasAt('soon', expiresAt)))) return true;
    return agenda.has(openEntry(record));
  };

  /** Checks one page of all records; the next call checks the next page. */
  async function* withoutEntry(now: number): AsyncGenerator<Due> {
    complete ??= await agenda.isComplete();
    const { entries, next } = await bucket.page(from, complete ? CHECKED : CHECKED_AT_FIRST);
    for (const entry of entries) {
      const record = recordIn(entry);
      if (record === undefined || visibility(record, now) === 'expired') continue;
      if (visibility(record, now) === 'forgotten') yield dueOf(record, now);
      else if (!(await isEntered(record))) {
        if (!hasEnded(record)) await agenda.add(openEntry(record));
        yield dueOf(record, now);
      }
    }
    from = next ?? 0;
    if (next !== undefined || complete) return;
    await agenda.setComplete();
    complete = true;
  }

  return async function* due(now) {
    for (const entry of await agenda.open()) yield dueOf(entry, now, entry);
    for (const entry of await agenda.soon(now)) yield dueOf(entry, now, entry);
    for await (const entry of agenda.later(now)) yield dueOf(entry, now, entry);
    const tombstones = oldestIn(bucket, (entry) => {
      const record = recordIn(entry);
      return record !== undefined && visibility(record, now) === 'forgotten' ? record : undefined;
    });
    for await (const record of tombstones) yield dueOf(record, now);
    yield* withoutEntry(now);
  };
}
