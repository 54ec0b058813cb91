/** ConversionJob orders, as they travel through the queue: keys only, never URLs or secrets. */
import { z } from 'zod';

/** An order with a higher version than this is released, for a newer worker to take. */
export const ORDER_VERSION = 1;

export const lanes = ['interactive', 'bulk'] as const;
export type Lane = (typeof lanes)[number];

/** Sources of at most so many bytes together make an order small: an express slot may take it. */
export const SMALL_ORDER_BYTES = 1 << 20;

export const Order = z.strictObject({
  version: z.number().int().min(1),
  jobId: z.string().regex(/^[0-9a-f]{32}$/),
  pool: z.string().min(1).max(63),
  lane: z.enum(lanes),
});
export type Order = z.infer<typeof Order>;
