/** Two controllers of separate namespaces on one NATS: each keeps its pools, and both are told of a name that both have. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TOOLCHAIN_POOLS } from '../../src/controller/pools/objects.ts';
import type { Nats } from '../../src/nats/connection.ts';
import { readPools } from '../../src/pools/nats/declarations.ts';
import { eventually } from '../kit/api/wire.ts';
import {
  aPool,
  applyPool,
  type Controller,
  condition,
  installResources,
  type Pool,
  startController,
} from '../kit/controller/controller.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { type Servers, startNats } from '../kit/nats/nats.ts';

const NAMESPACES = ['default', 'second'] as const;
type Namespace = (typeof NAMESPACES)[number];

let kubernetes: Cluster;
let servers: Servers;
let nats: Nats;
let controllers: Controller[];

beforeAll(async () => {
  [kubernetes, servers] = await Promise.all([startKubernetes({ nodes: { image: 1 } }), startNats()]);
  nats = await servers.connect();
  await installResources(kubernetes);
  await kubernetes.kubectl(['create', 'namespace', 'second']);
  const { kubeconfig } = kubernetes;
  const start = (namespace: string) =>
    startController({ kubeconfig, natsUrl: servers.addresses.join(','), settings: { controller: { namespace } } });
  controllers = await Promise.all(NAMESPACES.map(start));
}, 120_000);
afterAll(async () => {
  await Promise.all((controllers ?? []).map((controller) => controller.stop()));
  await Promise.all([kubernetes?.stop(), servers?.stop()]);
});

const make = (namespace: Namespace, name: string) => applyPool(kubernetes.kube, aPool(name, { capacity: 1 }, { namespace }));
const remove = (namespace: Namespace, name: string) => kubernetes.kube.remove(TOOLCHAIN_POOLS, { name, namespace });
const read = (namespace: Namespace, name: string) => kubernetes.kube.get<Pool>(TOOLCHAIN_POOLS, { name, namespace });
const names = async () => (await readPools(nats)).map(({ name }) => name);
const declared = (...wanted: string[]) =>
  eventually(async () => (await names()).join() === wanted.toSorted().join(), `declared are ${wanted}`, 40_000);

it('neither takes away what the other declares', async () => {
  await make('default', 'mine');
  await make('default', 'first');
  await make('second', 'theirs');
  await make('second', 'next');
  await declared('mine', 'first', 'theirs', 'next');
  // Each looks for pools without a resource when one of its pools goes.
  await remove('default', 'first');
  await declared('mine', 'theirs', 'next');
  await remove('second', 'next');
  await declared('mine', 'theirs');
}, 120_000);

it('a name that both have is a condition on both, and stays with the one that had it', async () => {
  await make('default', 'shared');
  await declared('mine', 'theirs', 'shared');
  await make('second', 'shared');
  const wanted = await eventually(
    async () => {
      const pool = await read('second', 'shared');
      return condition(pool, 'NameContested')?.status === 'True' && pool;
    },
    'who does not get it is told',
    40_000,
  );
  expect(condition(wanted, 'Degraded')).toMatchObject({ status: 'True', reason: 'NameTaken' });
  expect(condition(wanted, 'Ready')?.status).toBe('False');
  expect(condition(wanted, 'NameContested')?.message).toContain('the namespace default');

  await make('default', 'last');
  await declared('last', 'mine', 'theirs', 'shared');
  await remove('default', 'last');
  const owned = await eventually(
    async () => {
      const pool = await read('default', 'shared');
      return condition(pool, 'NameContested')?.status === 'True' && pool;
    },
    'who has it is told',
    40_000,
  );
  expect(condition(owned, 'Degraded')?.status).toBe('False');
  expect(condition(owned, 'NameContested')?.message).toContain('the namespace second');

  // Given up by its owner, it goes to the other.
  await remove('default', 'shared');
  await eventually(async () => condition(await read('second', 'shared'), 'Degraded')?.status === 'False', 'the other has it', 90_000);
}, 240_000);
