/**
 * Controllers on machines whose clocks are wrong by ten minutes: what they compare with times of the API server, they compare by its clock.
 *
 * Slow: a controller waits out its back-off and a minute of grace by its own clock.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/resource.ts';
import type { Nats } from '../../src/nats/connection.ts';
import { eventually } from '../kit/api/wire.ts';
import {
  aPool,
  applyPool,
  type Controller,
  condition,
  installResources,
  jobsOf,
  poolNamed,
  startController,
} from '../kit/controller/controller.ts';
import { type Crew, startStandIns } from '../kit/controller/stand-ins.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { type Servers, startNats } from '../kit/nats/nats.ts';

const MINUTES = 60_000;
/** Times of conditions and Jobs have whole seconds, and the machine may be busy, ms. */
const NEAR_MS = 60_000;
/** The first pause after workers that fail, s; how they end has whole seconds too. */
const PAUSE_SECONDS = 8;

let kubernetes: Cluster;
let servers: Servers;
let nats: Nats;
let crew: Crew;
const failing = new Set<string>();

beforeAll(async () => {
  [kubernetes, servers] = await Promise.all([startKubernetes({ nodes: { image: 2 } }), startNats()]);
  nats = await servers.connect();
  await installResources(kubernetes);
  crew = await startStandIns({
    kube: kubernetes.kube,
    nats,
    namespace: 'default',
    serviceMs: () => 50,
    comesUp: (pool) => !failing.has(pool),
  });
}, 120_000);
afterAll(async () => {
  await crew?.close();
  await Promise.all([kubernetes?.stop(), servers?.stop()]);
});

const wrongBy = (minutes: number) => ({
  NODE_OPTIONS: `--import ${join(import.meta.dirname, '../kit/roles/wrong-clock.ts')}`,
  CLOCK_SHIFT_MS: String(minutes * MINUTES),
});
const madeAt = ({ metadata }: KubeObject): number => Date.parse(metadata.creationTimestamp ?? '');
const poolIs = (name: string, what: string, holds: (pool: Awaited<ReturnType<typeof poolNamed>>) => boolean, ms: number) =>
  eventually(async () => holds(await poolNamed(kubernetes.kube, name)), what, ms);

describe.each([
  ['ahead', 10],
  ['behind', -10],
])('a controller ten minutes %s', (direction, minutes) => {
  let controller: Controller;
  beforeAll(async () => {
    const reached = { kubeconfig: kubernetes.kubeconfig, natsUrl: servers.addresses.join(',') };
    controller = await startController({ ...reached, environment: wrongBy(minutes) });
  }, 60_000);
  afterAll(() => controller?.stop());

  it('backs off as long as any other, tells the right time, and lets the pool recover', async () => {
    const name = `broken-${direction}`;
    const began = Date.now();
    failing.add(name);
    await applyPool(kubernetes.kube, aPool(name, { capacity: 1 }));
    await poolIs(name, 'it is degraded', (pool) => condition(pool, 'Degraded')?.reason === 'WorkersFail', 60_000);
    const jobs = await eventually(
      async () => {
        const there = await jobsOf(kubernetes.kube, name);
        return there.length >= 2 && there.toSorted((a, b) => madeAt(a) - madeAt(b));
      },
      'a second worker is tried',
      90_000,
    );
    const [first, second] = jobs.map(madeAt);
    expect(((second ?? 0) - (first ?? 0)) / 1_000).toBeGreaterThanOrEqual(PAUSE_SECONDS);

    const told = condition(await poolNamed(kubernetes.kube, name), 'Degraded') as { readonly lastTransitionTime?: string } | undefined;
    const turnedAt = Date.parse(told?.lastTransitionTime ?? '');
    expect(turnedAt).toBeGreaterThan(began - NEAR_MS);
    expect(turnedAt).toBeLessThan(Date.now() + NEAR_MS);

    failing.delete(name);
    await poolIs(name, 'it recovers', (pool) => condition(pool, 'Degraded')?.status === 'False', 120_000);
  }, 300_000);
});
