/** What the REST API and the MCP endpoint need to enforce limits. */
import type { Identify } from './clients/client.ts';
import type { FloodGuard } from './flood.ts';
import type { Limiter } from './limiter.ts';

export interface ClientLimits {
  readonly limiter: Limiter;
  readonly identify: Identify;
  /** The clock by which windows and bans are measured, ms since the epoch. */
  readonly clock: () => number;
  /** For reads, uploads and refused requests. Undefined where limits are switched off. */
  readonly flood: FloodGuard | undefined;
  /** For messages to `/mcp`: those that create no jobs are counted nowhere else. */
  readonly assistantFlood: FloodGuard | undefined;
}
