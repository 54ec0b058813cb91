/** The settings of upkeep. */
import { z } from 'zod';

export const upkeepSettings = z.strictObject({
  intervalMs: z.number().int().min(100).default(10_000).describe('From the end of one sweep to the start of the next, ms'),
  queueMs: z.number().int().min(1000).default(3_600_000).describe('A job that waits longer than this fails with queue_timeout, ms'),
  queueCapacity: z.number().int().min(1).default(10_000).describe('Orders that one pool may hold: beyond it requests get 503 OVERLOADED'),
});
