/** What a worker says of itself, on every change and every few seconds. */
import { z } from 'zod';

export const PRESENCE_VERSION = 1;

export const Presence = z.strictObject({
  version: z.number().int().min(1),
  pool: z.string().min(1).max(63),
  /** The name of its pod, or of its machine and process. */
  worker: z.string().min(1).max(63),
  state: z.enum(['idle', 'busy', 'draining']),
  /** Orders that it can hold at a time. */
  slots: z.number().int().min(0),
  busy: z.number().int().min(0),
  /** Versions by engine id; empty where one could not be read. */
  engines: z.record(z.string(), z.string()),
});
export type Presence = z.infer<typeof Presence>;
