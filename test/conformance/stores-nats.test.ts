/** The queue, jobs, batches, idempotency records and limits in JetStream, on one server and on three that replicate, held to the suites. */
import { afterAll, beforeAll, describe } from 'vitest';
import { ensureBatches, openNatsBatches } from '../../src/jobs/nats/batches.ts';
import { ensureIdempotency, openNatsIdempotency } from '../../src/jobs/nats/idempotency.ts';
import { ensureJobs, openNatsJobs } from '../../src/jobs/nats/jobs.ts';
import { ensureLimits, openNatsLimits } from '../../src/limits/nats.ts';
import type { Nats } from '../../src/nats/connection.ts';
import { ensureUploads, openNatsUploads } from '../../src/uploads/nats.ts';
import { emptyNats, type Servers, startNats } from '../kit/nats/nats.ts';
import { batchesSuite } from './batches.ts';
import { idempotencySuite } from './idempotency.ts';
import { jobsSuite } from './jobs.ts';
import { limitsSuite } from './limits.ts';
import { queueInJetStream } from './queue-nats.ts';
import { START } from './samples.ts';
import { uploadsSuite } from './uploads.ts';

for (const replicas of [1, 3] as const) {
  describe(`JetStream with ${replicas === 1 ? 'one server' : 'three replicas'}`, () => {
    let servers: Servers;
    let admin: Nats;
    /** Two processes: a store and every second view of it are on separate connections. */
    let connections: readonly Nats[];
    beforeAll(async () => {
      servers = await startNats(replicas);
      admin = await servers.connect();
      connections = await Promise.all([servers.connect(), servers.connect()]);
    });
    afterAll(() => servers.stop());

    /** Opens a backend again and again on separate buckets, which are empty. */
    async function afresh<T extends { close(): Promise<void> }>(
      ensure: (nats: Nats, replicas: number) => Promise<void>,
      open: (nats: Nats) => Promise<T> | T,
    ) {
      await emptyNats(admin);
      await ensure(admin, replicas);
      const opened: T[] = [];
      const reopen = async () => {
        const nats = connections[opened.length % connections.length];
        if (nats === undefined) throw new Error('no connection');
        const one = await open(nats);
        opened.push(one);
        return one;
      };
      /** @param key of a bucket, with its name before it */
      const write = async (key: string, text: string) => void (await admin.client.publish(`$KV.${key}`, text));
      return { first: await reopen(), reopen, write, close: async () => void (await Promise.all(opened.map((one) => one.close()))) };
    }

    queueInJetStream(replicas, () => ({ admin, connections }));

    jobsSuite('JetStream', async () => {
      let later = 0;
      const { first, write, ...rest } = await afresh(ensureJobs, (nats) =>
        openNatsJobs(nats, { clock: async () => START + later, report: () => {} }),
      );
      return {
        store: first,
        damage: (id, text) => write(`jobs.image.${id}`, text),
        ...rest,
        elapse: async (ms) => {
          later += ms;
        },
      };
    });

    describe('batches in JetStream', () =>
      batchesSuite(async () => {
        const told: Error[] = [];
        const { write, ...rest } = await afresh(ensureBatches, (nats) => openNatsBatches(nats, (found) => told.push(found)));
        return { ...rest, told, damage: (id) => write(`batches.${id}`, '{') };
      }));

    describe('idempotency records in JetStream', () =>
      idempotencySuite(async () => {
        const { write, ...rest } = await afresh(ensureIdempotency, (nats) => openNatsIdempotency(nats, () => {}));
        return { ...rest, damage: (key) => write(`idempotency.${key}`, '{') };
      }));

    describe('uploads in JetStream', () =>
      uploadsSuite(async () => {
        const told: Error[] = [];
        const { write, ...rest } = await afresh(ensureUploads, (nats) => openNatsUploads(nats, (found) => told.push(found)));
        return { ...rest, told, damage: (id) => write(`uploads.${id}`, '{') };
      }));

    limitsSuite('JetStream', async () => {
      let now = START;
      const clock = () => now;
      const { first, ...rest } = await afresh(ensureLimits, (nats) => openNatsLimits(nats, clock));
      return {
        store: first,
        ...rest,
        clock,
        elapse: async (ms) => {
          now += ms;
        },
      };
    });
  });
}
