/** What is wrong with a worker itself, so that it takes no orders: no file is to blame. */
import { z } from 'zod';

export const faultReasons = ['disk_full', 'disk_broken', 'descriptors', 'launcher', 'engine_missing'] as const;

export const Fault = z.strictObject({
  /** One of the above; a newer worker may know more. */
  reason: z.string().max(63),
  /** A sentence for the operator of the worker. */
  message: z.string().max(500),
});
export type Fault = z.infer<typeof Fault>;
export type FaultReason = (typeof faultReasons)[number];

export const faultOf = (reason: FaultReason, message: string): Fault => ({ reason, message: message.slice(0, 500) });
