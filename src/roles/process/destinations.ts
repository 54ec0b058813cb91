/** Results on their way to where clients want them, as each process with the API sends them. */
import type { ApiDeps } from '../../api/deps.ts';
import type { S3Places } from '../../destinations/places.ts';
import { putWith } from '../../destinations/put.ts';
import type { DestinationSettings } from '../../destinations/settings.ts';
import { type Storer, startStorer } from '../../destinations/storer.ts';
import type { Sender } from '../../fetch/send.ts';
import { hostOf } from '../../fetch/send-queue.ts';

export interface Destinations extends Pick<Storer, 'offer' | 'stop'> {
  /** For the API. */
  readonly api: NonNullable<ApiDeps['destinations']>;
}

interface DestinationsDeps extends Pick<ApiDeps, 'jobs' | 'files' | 'telemetry'> {
  /** Undefined where nothing is fetched. */
  readonly sender: Sender | undefined;
  readonly places: S3Places;
  readonly settings: DestinationSettings;
  readonly aloneSince?: number;
}

/** @returns undefined where the operator wants none, or nothing is fetched by URL */
export function destinationsFor({
  sender,
  places,
  settings,
  aloneSince,
  jobs,
  files,
  telemetry,
}: DestinationsDeps): Destinations | undefined {
  if (!settings.enabled || sender === undefined) return undefined;
  const { log, metrics } = telemetry;
  const { follow, offer, stop } = startStorer({
    jobs: jobs.store,
    encryption: jobs.encryption,
    put: putWith(sender, files.objects, places, settings),
    hostOf: ({ url, s3 }) => (s3 === undefined ? hostOf(url) : hostOf(places.originOf(s3) ?? '')),
    ended: jobs.signals.ended,
    onCancel: jobs.signals.onCancel,
    settings,
    clock: jobs.clock,
    aloneSince,
    log,
    onAttempt: metrics.resultStored,
    onEnd: ({ id, pool, state, failure }) => {
      log.info({ job_id: id, pool, state, reason: failure?.reason }, 'the job ended');
      metrics.jobEnded(pool, state, failure?.reason ?? '');
    },
  });
  return { api: { judge: sender.judge, places, follow }, offer, stop };
}
