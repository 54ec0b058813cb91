/** Orders without jobs behind them: what a pool's workers can be counted and timed by. */
import { randomBytes } from 'node:crypto';
import { ORDER_VERSION } from '../../../src/contracts/messages/order.ts';
import type { Queue } from '../../../src/queue/queue.ts';

/** @returns ids of their jobs, in no order */
export const sendOrders = (queue: Queue, pool: string, count: number): Promise<string[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const jobId = randomBytes(16).toString('hex');
      await queue.publish({ version: ORDER_VERSION, jobId, pool, lane: 'interactive' });
      return jobId;
    }),
  );
