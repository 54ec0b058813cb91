/** Stored records that cannot be read, damaged or of a newer filemill: scans skip, log and count them. */
import { Unreadable } from '../../jobs/text.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

export type RecordKind = 'job' | 'batch' | 'idempotency' | 'client' | 'upload';

/** For each kind of record, the callback for one. */
export type UnreadableOf = (kind: RecordKind) => (found: Error) => void;

export const unreadableTo =
  (log: Log, metrics: Metrics): UnreadableOf =>
  (kind) =>
  (err) => {
    // The store of jobs reports locks too, which expire.
    if (kind === 'job' && !(err instanceof Unreadable)) {
      log.error({ err }, 'the job store reported an error');
      return;
    }
    metrics.recordUnreadable(kind);
    log.error({ err, kind }, 'a stored record cannot be read');
  };
