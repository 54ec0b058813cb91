/** Ends downloads of files that were deleted or have expired: an open file keeps its space on the disk. */
import type { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { visibility } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { ApiDeps } from '../deps.ts';

interface Sending {
  readonly stream: Readable;
  readonly jobs: readonly string[];
  /** The file was found deleted once: the download ends at the next check. */
  isDeleted: boolean;
}

/** Registers a stream that reads the outputs of these jobs. */
export type Sends = (stream: Readable, jobs: readonly string[]) => void;

export function endDeleted(
  app: FastifyInstance,
  { jobs: { store, clock }, telemetry, service }: Pick<ApiDeps, 'jobs' | 'telemetry' | 'service'>,
): Sends {
  const sending = new Set<Sending>();
  let isLooking = false;

  const isGone = (record: JobRecord | undefined): boolean =>
    record === undefined || record.output === undefined || visibility(record, clock()) !== 'live';

  const checkAll = async (): Promise<void> => {
    const ids = new Set([...sending].flatMap(({ jobs }) => jobs));
    const gone = new Set<string>();
    // Each job once, one after the other: downloads are few, and no request waits for this.
    for (const id of ids) if (isGone((await store.get(id))?.record)) gone.add(id);
    for (const download of sending) {
      if (!download.jobs.some((id) => gone.has(id))) continue;
      if (download.isDeleted) download.stream.destroy(new Error('the file was deleted while it was read'));
      download.isDeleted = true;
    }
  };

  // Noticed at one check and ended at the next: a client that reads at a fair pace is done by then.
  const timer = setInterval(() => {
    if (sending.size === 0 || isLooking) return;
    isLooking = true;
    checkAll()
      .catch((err: unknown) => telemetry.log.warn({ err }, 'the check for deleted files among the downloads failed'))
      .finally(() => {
        isLooking = false;
      });
  }, service.settings.stalledMs / 2);
  timer.unref();
  app.addHook('onClose', async () => clearInterval(timer));

  return (stream, jobs) => {
    const download = { stream, jobs, isDeleted: false };
    sending.add(download);
    stream.once('close', () => sending.delete(download));
  };
}
