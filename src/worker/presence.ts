/** Publishes a worker's presence, and decides when the worker has done its share of orders or has idled too long. */
import { hostname } from 'node:os';
import type { Fault } from '../contracts/messages/fault.ts';
import { PRESENCE_VERSION, type Presence } from '../contracts/messages/presence.ts';
import type { OrderReservation } from './orders/loop.ts';

/** Interval of the presence messages, ms. */
const PRESENCE_MS = 5_000;
/** Changes within this time are published together, ms: orders may take milliseconds. */
const COALESCE_MS = 200;
/** Time limit on sending the last message when the process ends, ms. */
const FLUSH_MS = 1_000;

/** Where presence is published. */
export interface PresenceChannel {
  publish(presence: Presence): void;
  /** Resolves when all that was published has left this process. */
  flush(): Promise<void>;
}

export interface PresenceReporter {
  /** Reserves one of the orders that the worker may still take; undefined if all are reserved or taken. */
  reserve(): OrderReservation | undefined;
  now(): Pick<Presence, 'state' | 'slots' | 'busy' | 'taken' | 'ended'>;
  /** Publishes the current state soon. */
  changed(): void;

  /** Resolves with the reason when the worker shall take no more orders. */
  readonly enough: Promise<string>;
  /** Publishes that the worker takes no more orders. */
  startDraining(): void;
  /** Publishes that the worker holds no order any more, and stops publishing. */
  finishDraining(): Promise<void>;
}

/** What a worker can do at a moment. */
export interface Abilities extends Pick<Presence, 'engines'> {
  /** By engine id, the kind of defect. */
  readonly broken: ReadonlyMap<string, string>;
  /** Why it takes no orders. */
  readonly fault: Fault | undefined;
}

interface PresenceLimits {
  /** Orders that the worker may take; 0: any number. */
  readonly conversionsPerWorker: number;
  /** Time that it may idle; 0: for ever. */
  readonly idleSeconds: number;
}

/** @param configured name; undefined: made from the host name and the process id */
export const workerName = (configured: string | undefined): string =>
  configured ??
  `${hostname()
    .replace(/[^A-Za-z0-9_-]/g, '-')
    .slice(0, 40)}-${process.pid}`;

export function startPresence(
  channel: PresenceChannel,
  about: Pick<Presence, 'pool' | 'toolchain' | 'worker' | 'slots' | 'devices'>,
  { conversionsPerWorker, idleSeconds }: PresenceLimits,
  abilitiesNow: () => Abilities,
): PresenceReporter {
  const enough = Promise.withResolvers<string>();
  let leaving: 'draining' | 'drained' | undefined;
  let [busy, taken, ended, busyMs, busySince] = [0, 0, 0, 0, 0];
  let idle: NodeJS.Timeout | undefined;
  let soon: NodeJS.Timeout | undefined;

  const now = () => ({ state: leaving ?? (busy > 0 ? ('busy' as const) : ('idle' as const)), slots: about.slots, busy, taken, ended });
  const publish = () => {
    const busySeconds = busy > 0 ? Math.floor((performance.now() - busySince) / 1000) : 0;
    const { engines, broken, fault } = abilitiesNow();
    const heartbeat = { version: PRESENCE_VERSION, ...about, ...now(), busyMs: Math.round(busyMs), busySeconds, engines };
    channel.publish({
      ...heartbeat,
      ...(broken.size > 0 && { broken: Object.fromEntries(broken) }),
      ...(fault !== undefined && { unwell: fault }),
    });
  };
  const publishSoon = () => {
    soon ??= setTimeout(() => {
      soon = undefined;
      publish();
    }, COALESCE_MS);
  };
  // Jittered: the workers of a pool may have started together, and must not all end together.
  const idleMs = idleSeconds * 1000 * (0.8 + 0.4 * Math.random());
  const startIdleTimer = () => {
    if (idleMs > 0) idle = setTimeout(() => enough.resolve('it had no order for a long time'), idleMs).unref();
  };
  let reserved = 0;
  const mayReserve = () => conversionsPerWorker === 0 || taken + reserved < conversionsPerWorker;
  const take = () => {
    clearTimeout(idle);
    const began = performance.now();
    if (busy++ === 0) busySince = began;
    taken++;
    publishSoon();
    return () => {
      busyMs += performance.now() - began;
      ended++;
      if (--busy === 0) startIdleTimer();
      publishSoon();
      if (conversionsPerWorker > 0 && taken >= conversionsPerWorker) enough.resolve('it has done as many orders as it may');
    };
  };

  const timer = setInterval(publish, PRESENCE_MS);
  publish();
  startIdleTimer();
  return {
    reserve() {
      if (!mayReserve()) return undefined;
      reserved++;
      let end = (): void => void reserved--;
      return {
        take() {
          end();
          end = take();
        },
        [Symbol.dispose]: () => end(),
      };
    },
    now,
    changed: publishSoon,
    enough: enough.promise,
    startDraining() {
      leaving ??= 'draining';
      publish();
    },
    async finishDraining() {
      clearInterval(timer);
      clearTimeout(idle);
      clearTimeout(soon);
      leaving = 'drained';
      publish();
      const late = Promise.withResolvers<void>();
      const flushTimer = setTimeout(late.resolve, FLUSH_MS);
      await Promise.race([channel.flush().catch(() => {}), late.promise]);
      clearTimeout(flushTimer);
    },
  };
}
