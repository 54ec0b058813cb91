/** All that a door needs to let clients in or not. */
import type { Identify } from './client.ts';
import type { FloodGuard } from './flood.ts';
import type { Limiter } from './limiter.ts';

export interface Limits {
  readonly limiter: Limiter;
  readonly identify: Identify;
  /** Of reads, uploads and refused requests. Undefined where limits are switched off. */
  readonly flood: FloodGuard | undefined;
  /** Of messages to `/mcp`: those that make no work are counted nowhere else. */
  readonly assistantFlood: FloodGuard | undefined;
}
