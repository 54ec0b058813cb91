/** The probes and metrics of a role that serves no other requests. */
import type { Config } from '../../config.ts';
import type { Nats } from '../../nats/connection.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { type Probes, serveProbes } from '../../telemetry/probes.ts';
import type { EngineHealth } from '../../worker/health.ts';
import type { PresenceReporter } from '../../worker/presence.ts';
import { CannotStart, errorCode } from './cannot-start.ts';

/** Serves the probes of a worker. @returns undefined where no port is set @throws CannotStart */
export async function probe(
  { worker, api }: Config,
  metrics: Metrics,
  nats: Nats,
  presence: PresenceReporter,
  health: Pick<EngineHealth, 'fault'>,
): Promise<Probes | undefined> {
  const { metricsPort: port } = worker;
  if (port === 0) return undefined;
  metrics.onScrape(async () => metrics.workerSeen(presence.now()));
  const ready = () => health.fault?.reason ?? (nats.isConnected() && ['idle', 'busy'].includes(presence.now().state));
  // A worker without NATS waits for it; a restart would not help.
  return openProbes({ port, host: api.host, ready, live: () => true, metrics }, 'METRICS_PORT');
}

/** Metrics of a process whose API strangers can reach. @returns undefined if they have no separate port @throws CannotStart */
export async function privateMetrics({ api }: Config, metrics: Metrics, stopping: AbortSignal): Promise<Probes | undefined> {
  const { metricsPort: port, metricsHost: host } = api;
  return port === 0 ? undefined : openProbes({ port, host, ready: () => !stopping.aborted, live: () => true, metrics }, 'api.metricsPort');
}

/** @param setting of the port, for the message @throws CannotStart if it cannot listen on the port */
export const openProbes = (probed: Parameters<typeof serveProbes>[0], setting: string): Promise<Probes> =>
  serveProbes(probed).catch((cause: unknown) => {
    throw new CannotStart(`cannot listen on port ${probed.port} (${errorCode(cause)}): set ${setting}`, { cause });
  });
