/** Pools on a real NATS server: what is declared, which workers are there, and what is known when there are none. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Presence } from '../../src/contracts/messages/presence.ts';
import type { Nats } from '../../src/nats/connection.ts';
import { contenderOf } from '../../src/pools/nats/claims.ts';
import { declarePool, ensureRegistry, openDeclarations, readPool, readPools, retractPool } from '../../src/pools/nats/declarations.ts';
import { keepDeclared } from '../../src/pools/nats/declaring.ts';
import { openRegistry } from '../../src/pools/nats/registry.ts';
import { publishRetire, subscribeRetire } from '../../src/pools/nats/retire.ts';
import { publishPresence, subscribeWorkers } from '../../src/pools/nats/workers.ts';
import type { KnownWorkers, Registry } from '../../src/pools/registry.ts';
import { awaitPool } from '../../src/roles/cluster/declared.ts';
import { CannotStart } from '../../src/roles/process/cannot-start.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { emptyNats, type Servers, startNats } from '../kit/nats/nats.ts';

let servers: Servers;
let nats: Nats;
/** The connection of a worker, or of another replica. */
let other: Nats;
let now: number;
let workers: KnownWorkers;
const opened: Registry[] = [];
const faults: Error[] = [];

beforeAll(async () => {
  servers = await startNats();
  [nats, other] = [await servers.connect(), await servers.connect()];
  await ensureRegistry(nats, 1);
});
afterAll(() => servers?.stop());
beforeEach(async () => {
  await emptyNats(nats);
  now = 1_000_000;
  workers = subscribeWorkers(nats, () => now);
  await nats.core.flush();
});
afterEach(async () => {
  for (const registry of opened.splice(0)) await registry.close();
  workers.close();
  expect(faults.splice(0)).toEqual([]);
});

const A = { version: 1, name: 'image-a', toolchain: 'image', paused: false, preference: 0, lapses: false };
const words: Presence = {
  version: 1,
  pool: 'image-a',
  toolchain: 'image',
  worker: 'w-1',
  state: 'idle',
  slots: 2,
  busy: 0,
  taken: 0,
  ended: 0,
  busyMs: 0,
  busySeconds: 0,
  engines: { sharp: '0.35.0' },
};
async function say(about: Partial<Presence>): Promise<void> {
  publishPresence(other, { ...words, ...about });
  await other.core.flush();
  await nats.core.flush();
}
async function open(own: readonly (typeof A)[] = []): Promise<Registry> {
  const registry = await openRegistry(nats, { workers, own, clock: () => now, report: (error) => faults.push(error) });
  opened.push(registry);
  return registry;
}
const known = (registry: Registry) => {
  // What was counted a moment ago counts no longer.
  now += 1_000;
  return registry.pools();
};

describe('a pool', () => {
  it('is declared once, however often', async () => {
    await declarePool(nats, A);
    const { state } = await nats.manager.streams.info('KV_pools');
    await declarePool(other, A);
    expect((await nats.manager.streams.info('KV_pools')).state.last_seq).toBe(state.last_seq);
    expect(await readPools(nats)).toEqual([A]);
  });

  it('is declared with what is left out, and read back as it was changed', async () => {
    await declarePool(nats, { version: 1, name: 'image-a', toolchain: 'image' });
    await declarePool(nats, { ...A, paused: true, capacity: 5 });
    expect(await readPool(other, 'image-a')).toEqual({ ...A, paused: true, capacity: 5 });
  });

  it('keeps its toolchain', async () => {
    await declarePool(nats, A);
    await expect(declarePool(nats, { ...A, toolchain: 'pdf' })).rejects.toThrow('the pool image-a is of the toolchain image, not pdf');
    await retractPool(nats, 'image-a');
    await retractPool(nats, 'image-a');
    await declarePool(nats, { ...A, toolchain: 'pdf' });
    expect(await readPools(nats)).toHaveLength(1);
  });

  it('of a newer filemill is left out of the list, and reading it by its name says so', async () => {
    await nats.client.publish('$KV.pools.pool.image-a', JSON.stringify({ ...A, version: 2, colour: 'teal' }));
    expect(await readPools(nats)).toEqual([]);
    await expect(readPool(nats, 'image-a')).rejects.toThrow('declared by a newer filemill (version 2, this one knows 1): upgrade');
  });

  it('that no replica declares any more lapses; one that the controller takes over stays', async () => {
    await declarePool(nats, A, 1_000);
    await declarePool(nats, { ...A, name: 'image-b' }, 1_000);
    await declarePool(nats, { ...A, name: 'image-b' });
    await vi.waitFor(async () => expect((await readPools(nats)).map(({ name }) => name)).toEqual(['image-b']), 5_000);
  });

  it('is changed and retracted by its owner alone, which can see who else claims it', async () => {
    const [one, another] = ['one controller', 'another'].map((scope) => ({ version: 1, scope }));
    await declarePool(nats, A, undefined, one);
    await expect(declarePool(other, { ...A, paused: true }, undefined, another)).rejects.toThrow(
      'the name image-a is taken: the pool is declared by one controller, and this is another; give it another name',
    );
    await retractPool(other, 'image-a', another);
    expect(await readPools(nats)).toEqual([A]);
    expect((await contenderOf(openDeclarations(nats), 'image-a'))?.scope).toBe('another');
    await retractPool(nats, 'image-a', one);
    expect(await readPools(nats)).toEqual([]);
    await declarePool(other, A, undefined, another);
  });

  it('of one resource is the same for every controller that works on it', async () => {
    await declarePool(nats, A, undefined, { version: 1, scope: 'one lease', uid: 'u-1' });
    await declarePool(nats, { ...A, paused: true }, undefined, { version: 1, scope: 'another lease', uid: 'u-1' });
    expect(await readPool(nats, 'image-a')).toMatchObject({ paused: true });
  });

  it('that has no owner is retracted by no controller', async () => {
    await declarePool(nats, A);
    await retractPool(nats, 'image-a', { version: 1, scope: 'one controller' });
    expect(await readPools(nats)).toEqual([A]);
  });

  it("that is a controller's is not taken over by a list of replicas, which say so and serve", async () => {
    await declarePool(nats, { ...A, paused: true }, undefined, { version: 1, scope: 'one controller' });
    const end = await keepDeclared(nats, [A], (error) => faults.push(error));
    end();
    expect(String(faults.pop())).toContain('declared by one controller, and this is the configuration of API replicas');
    expect(await readPool(nats, 'image-a')).toMatchObject({ paused: true });
  });

  it('is declared again when NATS is back, by the replica that keeps it declared', async () => {
    const end = await keepDeclared(nats, [A], (error) => faults.push(error));
    await retractPool(other, 'image-a');
    const back = Promise.withResolvers<void>();
    other.onReconnect(back.resolve);
    await servers.kill();
    await servers.restart();
    await back.promise;
    await vi.waitFor(async () => expect(await readPools(other)).toHaveLength(1), 5_000);
    end();
  });
});

describe('the registry', () => {
  it('hears of a pool that is declared later, changed, and retracted', async () => {
    const registry = await open();
    expect(registry.pools().size).toBe(0);
    await declarePool(other, A);
    await vi.waitFor(() => expect(known(registry).get('image-a')?.paused).toBe(false));
    await declarePool(other, { ...A, paused: true });
    await vi.waitFor(() => expect(known(registry).get('image-a')?.paused).toBe(true));
    await retractPool(other, 'image-a');
    await vi.waitFor(() => expect(known(registry).size).toBe(0));
  });

  it('goes on hearing when NATS was away', async () => {
    const registry = await open();
    await servers.kill();
    await servers.restart();
    await declarePool(other, A);
    await vi.waitFor(() => expect(known(registry).has('image-a')).toBe(true), 10_000);
  });

  it('has the pools that it was given, though none of them is declared', async () => {
    const registry = await open([A]);
    expect([...registry.pools().keys()]).toEqual(['image-a']);
  });

  it('counts workers that take orders, and no others', async () => {
    const registry = await open([A]);
    await say({ worker: 'w-1', busy: 2, state: 'busy' });
    await say({ worker: 'w-2' });
    await say({ worker: 'w-3', state: 'draining' });
    await say({ worker: 'w-4', toolchain: 'pdf' });
    await say({ worker: 'w-5', pool: 'image-b' });
    expect(known(registry).get('image-a')).toMatchObject({ workers: 2, busy: 2 });
  });

  it('counts no worker that is silent, frozen or parted, and counts it again when it speaks', async () => {
    const registry = await open([A]);
    await say({});
    expect(known(registry).get('image-a')?.workers).toBe(1);
    now += 15_000;
    expect(known(registry).get('image-a')).toMatchObject({ workers: 0, engines: new Map([['sharp', '0.35.0']]) });
    await say({});
    expect(known(registry).get('image-a')?.workers).toBe(1);
  });

  it('keeps what a pool can do, and since when it is known, for replicas that start while no worker is there', async () => {
    const first = await open([A]);
    await say({});
    const { seenAt } = known(first).get('image-a') ?? {};
    const kept = () => nats.manager.streams.getMessage('KV_pools', { last_by_subj: '$KV.pools.engines.image-a' });
    await vi.waitFor(async () => expect(await kept()).not.toBeNull(), 10_000);
    await first.close();
    workers.close();
    workers = subscribeWorkers(nats, () => now);
    const later = known(await open([A])).get('image-a');
    expect(later).toMatchObject({ workers: 0, seenAt, engines: new Map([['sharp', '0.35.0']]) });
  });

  it('gives the same object for what a pool can do as long as that is the same', async () => {
    const registry = await open([A]);
    await say({});
    const before = known(registry).get('image-a')?.engines;
    await say({ busy: 1, state: 'busy' });
    expect(known(registry).get('image-a')?.engines).toBe(before);
    await say({ engines: { sharp: '0.36.0' } });
    expect(known(registry).get('image-a')?.engines.get('sharp')).toBe('0.36.0');
  });
});

describe('a worker that starts', () => {
  const log = createLog('silent');
  const wanted = { toolchain: undefined, patienceMs: 0, log };

  it('before any pool was declared says that its pool is not there', async () => {
    const fresh = await startNats();
    try {
      await expect(awaitPool(await fresh.connect(), 'image-a', wanted)).rejects.toThrow(/^the pool image-a is not declared: set POOL/);
    } finally {
      await fresh.stop();
    }
  });

  it('waits for its pool, and takes its toolchain', async () => {
    const waiting = awaitPool(other, 'image-a', { ...wanted, patienceMs: 10_000 });
    await declarePool(nats, A);
    expect(await waiting).toBe('image');
  });

  it('on a pool of a toolchain that came later asks to be upgraded', async () => {
    await declarePool(nats, { ...A, toolchain: 'hologram' });
    await expect(awaitPool(other, 'image-a', wanted)).rejects.toThrow(
      'of the toolchain hologram, which this filemill does not know: upgrade',
    );
  });

  it('on a pool that a newer filemill declared asks to be upgraded too', async () => {
    await nats.client.publish('$KV.pools.pool.image-a', JSON.stringify({ ...A, version: 2 }));
    await expect(awaitPool(other, 'image-a', wanted)).rejects.toThrow(CannotStart);
  });
});

describe('workers', () => {
  it('are told of when there is news, and not each time they speak', async () => {
    const news: string[] = [];
    workers.onPresence((pool, worker) => news.push(`${pool} ${worker}`));
    await say({});
    await say({});
    await say({ busy: 1, state: 'busy' });
    expect(news).toEqual(['image-a w-1', 'image-a w-1']);
    expect(workers.workers('image-a')).toEqual([{ ...words, busy: 1, state: 'busy', receivedAt: now }]);
  });

  it('are not believed where they report for others, or send what cannot be read', async () => {
    for (const text of [
      '',
      '{}',
      JSON.stringify({ ...words, version: 2 }),
      JSON.stringify({ ...words, worker: 'w-2' }),
      JSON.stringify({ ...words, pool: 'pdf' }),
    ])
      other.core.publish('worker.image-a.w-1', text);
    await other.core.flush();
    await nats.core.flush();
    for (const pool of ['image-a', 'pdf']) expect(workers.workers(pool)).toEqual([]);
  });

  it('are heard for a while, even if what they say cannot be read or they take no orders', async () => {
    const registry = await open([A]);
    expect(known(registry).get('image-a')).toMatchObject({ workers: 0, isHeard: false });
    await say({ state: 'draining' });
    expect(known(registry).get('image-a')).toMatchObject({ workers: 0, isHeard: true });
    now += 15_000;
    expect(known(registry).get('image-a')).toMatchObject({ workers: 0, isHeard: false });
    other.core.publish('worker.image-a.w-1', JSON.stringify({ ...words, version: 2 }));
    await other.core.flush();
    await nats.core.flush();
    expect(known(registry).get('image-a')).toMatchObject({ workers: 0, isHeard: true });
  });

  it('hear that they are to retire, each for itself', async () => {
    const asked: string[] = [];
    const end = ['w-1', 'w-2'].map((worker) => subscribeRetire(other, 'image-a', worker, () => asked.push(worker)));
    await other.core.flush();
    publishRetire(nats, 'image-a', 'w-2');
    publishRetire(nats, 'image-b', 'w-1');
    publishRetire(nats, 'image-a', '*');
    await nats.core.flush();
    await vi.waitFor(() => expect(asked).toEqual(['w-2']));
    for (const stop of end) stop();
  });
});
