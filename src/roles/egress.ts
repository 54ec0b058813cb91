/** The one role that reaches the Internet: API replicas and workers of web pages connect through it. */
import type { Config } from '../config.ts';
import { addressJudge } from '../fetch/address.ts';
import { directConnector } from '../fetch/direct-connector.ts';
import { openEgress } from '../fetch/egress/egress.ts';
import { privateConnector } from '../fetch/private.ts';
import { nameServers } from '../fetch/resolve.ts';
import { createLog } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { CannotStart, errorCode } from './process/cannot-start.ts';
import { openProbes } from './process/probe.ts';
import type { Running } from './process/running.ts';

/** How long tunnels may go on after SIGTERM: the rest is closed then, and clients may retry, ms. */
const GRACE_MS = 8_000;

/** @throws CannotStart without a token: anyone who can reach it could use it */
export async function egress({ egress: own, fetch: settings, log: { level } }: Config): Promise<Running> {
  const { token: tokens, host, port, metricsPort } = own;
  if (tokens === undefined) throw new CannotStart('the role egress needs a token that its clients share: set EGRESS_TOKEN');
  const log = createLog(level);
  const metrics = createMetrics();
  const resolving = { resolve: nameServers(), judge: addressJudge(settings) };
  const opened = await openEgress({
    connector: directConnector(settings, resolving),
    privateConnector: privateConnector(settings, resolving),
    tokens,
    settings: { ...own, ports: settings.ports, totalMs: settings.totalMs, privateOrigins: settings.privateOrigins },
    onRequest(outcome) {
      metrics.egressAsked(outcome);
      log.debug({ outcome }, 'a request to egress');
    },
    metrics: metricsPort === 0 ? async () => ({ type: metrics.contentType, text: await metrics.text() }) : undefined,
  }).catch((cause: unknown) => {
    throw new CannotStart(`cannot listen on ${host}, port ${port} (${errorCode(cause)}): set EGRESS_PORT, or egress.host`, { cause });
  });
  const always = () => true;
  const probed = { port: metricsPort, host, ready: always, live: always, metrics };
  const probes = metricsPort === 0 ? undefined : await openProbes(probed, 'egress.metricsPort');
  return {
    port: opened.port,
    countUncaught: metrics.uncaught,
    async stop() {
      await opened.close(GRACE_MS);
      await probes?.close();
    },
  };
}
