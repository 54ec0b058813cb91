/** The queue in JetStream, held to its suite: on servers whose time cannot be moved. */
import { expect, vi } from 'vitest';
import type { Nats } from '../../src/nats/connection.ts';
import { allBands } from '../../src/queue/nats/bands.ts';
import { ensurePool } from '../../src/queue/nats/pool.ts';
import { openNatsQueue } from '../../src/queue/nats/queue.ts';
import { ACK_WAIT_MS, type Delivery, type Queue } from '../../src/queue/queue.ts';
import { emptyNats } from '../kit/nats/nats.ts';
import { CAPACITY, queueSuite } from './queue.ts';

/** The servers' time runs so much faster than what the suite speaks of. */
const FASTER = 10;

/** The queue in the suite's time. */
const slowed = (queue: Queue): Queue => ({
  ...queue,
  async pull(...asked) {
    const delivery = await queue.pull(...asked);
    if (delivery === undefined) return undefined;
    const release: Delivery['release'] = (delayMs) => delivery.release(delayMs / FASTER);
    return { ...delivery, release };
  },
  async depth(pool) {
    const { oldestMs, ...counts } = await queue.depth(pool);
    return { ...counts, oldestMs: oldestMs === undefined ? undefined : oldestMs * FASTER };
  },
});

interface Connected {
  readonly admin: Nats;
  /** Two processes: a queue and every second view of it are on separate connections. */
  readonly connections: readonly Nats[];
}

/** @param servers those that are there once tests run */
export function queueInJetStream(replicas: 1 | 3, servers: () => Connected): void {
  queueSuite('JetStream', async () => {
    const { admin, connections } = servers();
    await emptyNats(admin);
    const ackWaitMs = ACK_WAIT_MS / FASTER;
    for (const pool of ['image', 'media']) await ensurePool(admin, pool, { capacity: CAPACITY, replicas });
    const opened: Queue[] = [];
    const reopen = async () => {
      const nats = connections[opened.length % connections.length];
      if (nats === undefined) throw new Error('no connection');
      const one = slowed(openNatsQueue(nats, { ackWaitMs, random: () => 0.999 }));
      opened.push(one);
      return one;
    };
    return {
      queue: await reopen(),
      reopen,
      elapse: (ms) => new Promise((resolve) => setTimeout(resolve, ms / FASTER)),
      // A consumer may sit on a replica that is behind.
      settled: () =>
        vi.waitFor(async () => {
          const consumers = await Promise.all(allBands.map((band) => admin.manager.consumers.info('convert-image', band)));
          const shown = consumers.reduce((sum, { num_pending, num_ack_pending }) => sum + num_pending + num_ack_pending, 0);
          expect(shown).toBe((await admin.manager.streams.info('convert-image')).state.messages);
        }, 20_000),
      close: async () => void (await Promise.all(opened.map((one) => one.close()))),
    };
  });
}
