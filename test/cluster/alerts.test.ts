/**
 * A real Prometheus over real controllers. The chart's alerts: each is fired by its fault, and none in a service that is well, whatever other
 * programs beside it export. And what the recipes for autoscalers ask it.
 *
 * Slow: the API server says something on a quiet watch once a minute, so silence is an alert only after more than that.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Nats } from '../../src/nats/connection.ts';
import { openNatsQueue } from '../../src/queue/nats/queue.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { eventually } from '../kit/api/wire.ts';
import { aPool, applyPool, type Controller, documents, installResources, startController } from '../kit/controller/controller.ts';
import { sendOrders } from '../kit/controller/orders.ts';
import { type Crew, startStandIns } from '../kit/controller/stand-ins.ts';
import { freePorts } from '../kit/exec/ports.ts';
import { openHelm, PRODUCTION } from '../kit/kube/chart.ts';
import { type FaultyProxy, startFaultyProxy } from '../kit/kube/faulty-proxy.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { type Prometheus, type Rule, startPrometheus } from '../kit/kube/prometheus.ts';
import { type Servers, startNats } from '../kit/nats/nats.ts';

interface Scaled {
  readonly spec: { readonly triggers: readonly [{ readonly metadata: { readonly query: string } }] };
}
interface Adapter {
  readonly rules: { readonly external: readonly [{ readonly metricsQuery: string }] };
}

/** As the chart names its release's. */
const NAMESPACE = 'filemill';
/** The namespace of other operators, whose metrics have the same names. */
const OTHERS = 'others';
/** How long all is well before the first fault, ms: an hour at night (test/e2e/README.md). */
const WELL_MS = Number(process.env['ALERTS_WELL_MS'] ?? 10_000);
/** How often orders come meanwhile, ms: the pool grows and shrinks. */
const ORDERS_EVERY_MS = 8_000;
const FIRES_MS = 60_000;
/** The silence that is an alert here: longer than the minute after which the API server says something on a quiet watch. */
const SILENT_SECONDS = 70;
const DEAF_MS = 150_000;

/** A pool whose conversions take a while. */
const SLOW = 'slow';

const helm = openHelm();
let kubernetes: Cluster;
let servers: Servers;
let nats: Nats;
let queue: Queue;
let proxy: FaultyProxy;
/** The first leads, the second one reaches the API server through the proxy. */
let controllers: Controller[] = [];
let ports: number[] = [];
let crew: Crew;
let prometheus: Prometheus;
/** The metrics of a role that is at work: this test sets what they count. */
const metrics = createMetrics();
const exporters: Server[] = [];

/** Only how long it must last is shorter here. */
const sooner = ({ expr, ...rule }: Rule): Rule => ({
  ...rule,
  ...(rule.for !== undefined && { for: '3s' }),
  expr: expr
    .replace('oldest_queued_seconds{namespace="filemill"}) > 600', 'oldest_queued_seconds{namespace="filemill"}) > 3')
    .replace(/(watch_silence_seconds\{.*\}\)) > 90/, `$1 > ${SILENT_SECONDS}`),
});

/** @returns host and port of a program that exports this */
async function exporter(text: () => string | Promise<string>): Promise<string> {
  const server = createServer((_, response) => {
    void Promise.resolve(text()).then((body) => response.setHeader('content-type', 'text/plain; version=0.0.4').end(body));
  }).listen(0, '127.0.0.1');
  exporters.push(server);
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
/** Another operator's: it leads nowhere, and is started again and again. */
const other = () => `leader_election_master_status{name="other-operator"} 0\nprocess_start_time_seconds ${Date.now() / 1_000}\n`;

const start = (port: number, kubeconfig: string) =>
  startController({
    kubeconfig,
    natsUrl: servers.addresses.join(','),
    settings: { controller: { probesPort: port } } as never,
  });
const fires = (alert: string, ms = FIRES_MS) =>
  eventually(
    async () => {
      const firing = await prometheus.firing(alert);
      return firing.length > 0 ? firing : undefined;
    },
    `${alert} fires`,
    ms,
  );
const ends = (alert: string, ms = FIRES_MS) => eventually(async () => (await prometheus.firing(alert)).length === 0, `${alert} ends`, ms);

beforeAll(async () => {
  [kubernetes, servers] = await Promise.all([startKubernetes({ nodes: { image: 1 } }), startNats()]);
  nats = await servers.connect();
  queue = openNatsQueue(nats);
  await installResources(kubernetes);
  proxy = await startFaultyProxy(kubernetes.kubeconfig, 'proxy');
  crew = await startStandIns({ kube: kubernetes.kube, nats, namespace: 'default', serviceMs: (pool) => (pool === SLOW ? 30_000 : 50) });
  ports = await freePorts(2);
  controllers = [await start(ports[0] ?? 0, kubernetes.kubeconfig)];
  controllers.push(await start(ports[1] ?? 0, proxy.kubeconfig));
  await applyPool(kubernetes.kube, aPool('well'));
  await eventually(() => [...crew.there.values()].some(({ pool }) => pool === 'well'), 'its worker', 30_000);
  const find = await helm.objects(...PRODUCTION, '--set', 'metrics.prometheusRule.enabled=true');
  const rules: readonly Rule[] = find('PrometheusRule', 'filemill')['spec'].groups[0].rules;
  const ours = [...ports.map((port) => `127.0.0.1:${port}`), await exporter(() => metrics.text())];
  const targets = { [NAMESPACE]: [...ours, await exporter(other)], [OTHERS]: [await exporter(other)] };
  prometheus = await startPrometheus(targets, rules.map(sooner));
  await eventually(() => prometheus.scrapesAll(), 'everything to be scraped', 30_000);
  // Before it had asked anybody, there was no leader.
  await eventually(async () => (await prometheus.raised()).length === 0, 'the first look to be over', 30_000);
}, 150_000);
afterAll(async () => {
  helm.remove();
  await prometheus?.stop();
  for (const server of exporters) server.close();
  await crew?.close();
  await Promise.all(controllers.map((controller) => controller.stop()));
  await proxy?.close();
  await queue?.close();
  await Promise.all([kubernetes?.stop(), servers?.stop()]);
});

/** As KEDA's example asks for its pool, and prometheus-adapter's rule for the pool that an autoscaler names. */
async function recipes(): Promise<Readonly<Record<string, string>>> {
  const [scaled] = (await documents('manifests/examples/autoscaling/keda.yaml')) as unknown as [Scaled];
  const [adapter] = (await documents('manifests/examples/autoscaling/prometheus-adapter.yaml')) as unknown as [Adapter];
  return {
    KEDA: scaled.spec.triggers[0].metadata.query.replaceAll('pool="media"', `pool="${SLOW}"`),
    'prometheus-adapter': adapter.rules.external[0].metricsQuery.replaceAll('<<.LabelMatchers>>', `pool="${SLOW}"`),
  };
}

describe('alerts', () => {
  it(
    'are silent while all is well',
    async () => {
      for (const end = Date.now() + WELL_MS; Date.now() < end; ) {
        await sendOrders(queue, 'well', 20);
        for (const next = Date.now() + ORDERS_EVERY_MS; Date.now() < next; await pause(500)) expect(await prometheus.raised()).toEqual([]);
      }
    },
    WELL_MS + 60_000,
  );
});

describe('the alert', () => {
  // For FilemillControllerDeaf, which takes the longest.
  beforeAll(() => proxy.swallow());

  it('FilemillPoolDegraded fires for a pool that no node accepts, and ends with the cause', async () => {
    await applyPool(kubernetes.kube, aPool('homeless', { nodeSelector: { 'filemill.io/pool': 'media' } }));
    expect(await fires('FilemillPoolDegraded')).toMatchObject([{ namespace: NAMESPACE, pool: 'homeless', pool_namespace: 'default' }]);
    await kubernetes.addNodes('media', 1);
    await ends('FilemillPoolDegraded');
  }, 150_000);

  it('FilemillOrdersWait fires for a pool whose orders no worker takes, and ends once workers take them', async () => {
    await applyPool(kubernetes.kube, aPool('well', { capacity: 0 }));
    await eventually(() => ![...crew.there.values()].some(({ pool }) => pool === 'well'), 'its workers to have left', 60_000);
    await sendOrders(queue, 'well', 2);
    expect(await fires('FilemillOrdersWait')).toMatchObject([{ namespace: NAMESPACE, pool: 'well' }]);
    await applyPool(kubernetes.kube, aPool('well'));
    await ends('FilemillOrdersWait');
  }, 200_000);

  it('FilemillUncaughtErrors fires for the first one of a role', async () => {
    metrics.uncaught('exception');
    await fires('FilemillUncaughtErrors');
  }, 90_000);

  it('FilemillUnreadableRecords fires while records are met that cannot be read', async () => {
    const meets = setInterval(() => metrics.recordUnreadable('job'), 500);
    await fires('FilemillUnreadableRecords').finally(() => clearInterval(meets));
  }, 90_000);

  it('FilemillControllerDeaf fires for a controller that hears nothing of the API server any more', async () => {
    await fires('FilemillControllerDeaf', DEAF_MS);
    proxy.open();
    // What was swallowed is missing in its connections.
    proxy.cut();
    // On a quiet watch the first word is a bookmark, a minute after it began; the watch itself is tried again every 10 s.
    await ends('FilemillControllerDeaf', 120_000);
  }, 310_000);

  it('FilemillRestarted fires for a process that was started again, and for no other program', async () => {
    expect(await prometheus.raised()).not.toContain('FilemillRestarted');
    await controllers[1]?.stop('SIGKILL');
    controllers[1] = await start(ports[1] ?? 0, kubernetes.kubeconfig);
    expect((await fires('FilemillRestarted')).map(({ instance }) => instance)).toEqual([`127.0.0.1:${ports[1]}`]);
  }, 120_000);

  it('FilemillNoLeader fires when there is no controller, and when none leads', async () => {
    expect(await prometheus.raised()).not.toContain('FilemillNoLeader');
    proxy.shut();
    await Promise.all(controllers.map((controller) => controller.stop()));
    controllers = [];
    expect(await fires('FilemillNoLeader')).toMatchObject([{ namespace: NAMESPACE }]);
    controllers = [await start(ports[1] ?? 0, proxy.kubeconfig)];
    // Its metrics are there, and it cannot lead: another half of the expression, without the name.
    const halves = async () => (await prometheus.firing('FilemillNoLeader')).map(({ name }) => name ?? 'one that follows');
    await eventually(async () => (await halves()).join() === 'one that follows', 'it fires for one that does not lead', FIRES_MS);
    proxy.open();
    await ends('FilemillNoLeader');
  }, 200_000);
});

it('what autoscalers ask for counts running conversions with waiting ones', async () => {
  const orders = 3;
  await applyPool(kubernetes.kube, aPool(SLOW, { capacity: 1 }));
  await sendOrders(queue, SLOW, orders);
  const queries = await recipes();
  await eventually(async () => (await prometheus.query(`filemill_pool_running_orders{pool="${SLOW}"}`)) === 1, 'one to run', FIRES_MS);
  for (const [who, query] of Object.entries(queries)) expect([who, await prometheus.query(query)]).toEqual([who, orders]);
}, 90_000);
