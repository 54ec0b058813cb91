/** What a role that serves nobody else answers to whoever watches over its process. */
import type { Config } from '../../config.ts';
import type { Nats } from '../../nats/connection.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { type Probes, serveProbes } from '../../telemetry/probes.ts';
import type { Health } from '../../worker/health.ts';
import type { PresenceReporter } from '../../worker/presence.ts';
import { CannotStart, errorCode } from './cannot-start.ts';

/** Of a worker. @returns undefined where no port is set @throws CannotStart */
export async function probe(
  { worker, api }: Config,
  metrics: Metrics,
  nats: Nats,
  presence: PresenceReporter,
  health: Pick<Health, 'fault'>,
): Promise<Probes | undefined> {
  const { metricsPort: port } = worker;
  if (port === 0) return undefined;
  metrics.onScrape(async () => metrics.workerSeen(presence.now()));
  const ready = () => health.fault?.reason ?? (nats.isConnected() && ['idle', 'busy'].includes(presence.now().state));
  // A worker without NATS waits for it, and would wait no less if it were started anew.
  return openProbes({ port, host: api.host, ready, live: () => true, metrics }, 'METRICS_PORT');
}

/** @param setting that says the port @throws CannotStart where it cannot be listened on */
export const openProbes = (probed: Parameters<typeof serveProbes>[0], setting: string): Promise<Probes> =>
  serveProbes(probed).catch((cause: unknown) => {
    throw new CannotStart(`cannot listen on port ${probed.port} (${errorCode(cause)}): set ${setting}`, { cause });
  });
