/** A running role. */
import type { Uncaught } from '../../telemetry/metrics.ts';

export interface Running {
  /** Where clients reach it; undefined for a role that takes no requests. */
  readonly port: number | undefined;
  /** Resolves when it has ended by itself. @throws CannotGoOn when it cannot continue */
  readonly ended?: Promise<void>;
  readonly countUncaught: (kind: Uncaught) => void;
  /** Takes no new work, lets running conversions end or releases them, and closes everything. */
  stop(): Promise<void>;
}
