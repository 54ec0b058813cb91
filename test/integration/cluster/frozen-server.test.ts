/**
 * One NATS server of three is frozen: its clients notice, and go to another.
 *
 * Slow: clients of a frozen server notice after some seconds, once for each of three servers.
 */
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import { afterEach, expect, it } from 'vitest';
import { connectNats } from '../../../src/nats/connection.ts';
import { type Servers, startNats } from '../../kit/nats/nats.ts';
import { type Cluster, startCluster } from '../../kit/roles/cluster.ts';
import { startCrew } from '../../kit/roles/crew.ts';
import { convert } from '../../kit/roles/service.ts';

/** Two pings without an answer, and the way to another server, ms. */
const NOTICED_MS = 8_000;
/** With what a new leader takes beside that, ms. */
const SERVED_MS = 20_000;

let servers: Servers | undefined;
let cluster: Cluster | undefined;
afterEach(async () => {
  await cluster?.stop();
  await servers?.stop();
});

it('a client of a frozen server is served by another within seconds', { timeout: 60_000 }, async () => {
  servers = await startNats(3);
  const nats = await servers.connect();
  const subscription = nats.core.subscribe('echo', { callback: (_, message) => void message.respond('heard') });
  await nats.core.flush();
  const frozen = servers.addresses.indexOf(nats.core.getServer());
  const began = performance.now();
  servers.signal('SIGSTOP', frozen);
  await nats.withRetry('to ask', () => nats.core.request('echo', '', { timeout: 1_000 }), 45_000);
  const took = performance.now() - began;
  servers.signal('SIGCONT', frozen);
  subscription.unsubscribe();
  expect(took).toBeLessThan(NOTICED_MS);
});

it('a read that a server answers as it wakes is asked again', { timeout: 60_000 }, async () => {
  servers = await startNats();
  // Patient: the server must still be its own when it wakes.
  const nats = await connectNats({ servers: servers.addresses, name: 'reader', pingMs: 60_000, readsStrongly: true });
  try {
    const subscription = nats.core.subscribe('echo', { callback: (_, message) => void message.respond('heard') });
    let asked = 0;
    /** When the answer that was taken had been asked for, and when it came. */
    const read = async () => {
      const askedAt = await nats.readStrongly('to ask', async () => {
        asked++;
        const at = performance.now();
        await nats.core.request('echo', '', { timeout: 20_000 });
        return at;
      });
      return { askedAt, cameAt: performance.now() };
    };
    await read();
    expect(asked, 'while all is well').toBe(1);
    servers.signal('SIGSTOP');
    // As long as others need to elect a leader.
    const asking: ReturnType<typeof read>[] = [];
    for (const until = performance.now() + 4_000; performance.now() < until; await pause(100)) asking.push(read());
    const wokenAt = performance.now();
    servers.signal('SIGCONT');
    // The first may have been answered before the server stopped.
    const late = (await Promise.all(asking)).filter(({ cameAt }) => cameAt > wokenAt);
    expect(late.length).toBeGreaterThan(30);
    expect(Math.min(...late.map(({ askedAt }) => askedAt)) - wokenAt).toBeGreaterThan(0);
    subscription.unsubscribe();
  } finally {
    await nats.close();
  }
});

it('jobs go on within seconds whichever server is frozen', { timeout: 180_000 }, async () => {
  cluster = await startCluster(3);
  const { nats } = cluster;
  const settings = { nats: { replicas: 3 } };
  const workers = [{ POOL: 'image' }, { POOL: 'image' }];
  const crew = await startCrew(cluster, { replicas: [{}, {}], workers: workers.map((own) => ({ ...own, NATS_REPLICAS: '3' })), settings });
  const bytes = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  /** Sent until it is taken, ms from the first attempt to its end. */
  const job = async (index: number): Promise<number> => {
    const began = performance.now();
    while (performance.now() - began < 60_000) {
      const { data } = await convert(crew.replicas[index]?.url ?? '', { name: 'a.png', bytes }, 'webp');
      if (data?.status === 'done') return performance.now() - began;
      if (data !== undefined) throw new Error(`not done: ${JSON.stringify(data)}`);
    }
    throw new Error('never taken');
  };
  const { manager, withRetry } = await nats.connect();
  const streams = async () => {
    const all = [];
    for await (const stream of manager.streams.list()) all.push(stream);
    return all;
  };
  for (const index of nats.addresses.keys()) {
    const led = (await withRetry('to list', streams, 30_000)).filter((stream) => stream.cluster?.leader === `n${index}`);
    nats.signal('SIGSTOP', index);
    const first = await Promise.all([job(0), job(1)]);
    const next: number[] = [];
    for (let turn = 0; turn < 10; turn++) next.push(...(await Promise.all([job(0), job(1)])));
    nats.signal('SIGCONT', index);
    const said = `n${index}, led ${led.map(({ config }) => config.name).join(' ')}: ms: first ${first.map(Math.round).join(' ')}, then ${next.map(Math.round).join(' ')}`;
    console.info(said);
    expect(Math.max(...first, ...next), said).toBeLessThan(SERVED_MS);
  }
});
