/** Results on their way to where clients want them, as each process with the API sends them. */
import type { ApiDeps } from '../../api/deps.ts';
import type { Config } from '../../config.ts';
import type { S3Places } from '../../destinations/places.ts';
import { putWith } from '../../destinations/put.ts';
import { type Storer, startStorer } from '../../destinations/storer.ts';
import type { Sender } from '../../fetch/send.ts';
import { hostOf } from '../../fetch/send-queue.ts';

export interface Destinations extends Pick<Storer, 'offer' | 'stop'> {
  /** For the API; undefined where the operator wants none, or nothing is fetched by URL: results that wait are given up. */
  readonly api: ApiDeps['destinations'];
}

interface DestinationsDeps extends Pick<ApiDeps, 'jobs' | 'files' | 'telemetry'> {
  /** Undefined where nothing is fetched. */
  readonly sender: Sender | undefined;
  readonly places: S3Places;
  readonly config: Pick<Config, 'destinations' | 'fetch' | 'egress'>;
  readonly aloneSince?: number;
}

export function destinationsFor({ sender, places, config, aloneSince, jobs, files, telemetry }: DestinationsDeps): Destinations {
  const { log, metrics } = telemetry;
  const settings = { ...config.destinations, uploadMs: longestUpload(config) };
  const used = settings.enabled ? sender : undefined;
  const { follow, offer, stop } = startStorer({
    jobs: jobs.store,
    durability: jobs.durability,
    encryption: jobs.encryption,
    put: used && putWith(used, files.objects, places, settings),
    hostOf: ({ url, s3 }) => {
      const to = s3 === undefined ? url : places.originOf(s3);
      return to === undefined ? undefined : hostOf(to);
    },
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
  return { api: used && { judge: used.judge, places, follow }, offer, stop };
}

/** The role `egress` ends a connection after its own time, which would look like one that broke off. */
const longestUpload = ({ destinations: { uploadMs }, fetch, egress }: DestinationsDeps['config']): number =>
  egress.url === undefined ? uploadMs : Math.min(uploadMs, fetch.totalMs);
