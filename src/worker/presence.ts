/** What a worker says of itself while it works, and when it has done enough. */
import { hostname } from 'node:os';
import type { Fault } from '../contracts/messages/fault.ts';
import { PRESENCE_VERSION, type Presence } from '../contracts/messages/presence.ts';
import type { Nats } from '../nats/connection.ts';
import { publishPresence } from '../pools/workers.ts';
import type { Reservation } from './loop.ts';

/** How often a worker says that it is there, ms. */
const PRESENCE_MS = 5_000;
/** Orders may take milliseconds: their turns are told together, ms. */
const TOGETHER_MS = 200;
/** What is still to be said when the process ends gets this long, ms. */
const FAREWELL_MS = 1_000;

export interface Present {
  /** Undefined where those that hold places may take all that is left. */
  reserve(): Reservation | undefined;
  now(): Pick<Presence, 'state' | 'slots' | 'busy' | 'taken' | 'ended'>;
  /** Says how it stands, soon. */
  changed(): void;
  /** Resolves with the reason when no more orders are to be taken. */
  readonly enough: Promise<string>;
  /** Says that no more will be taken. */
  leave(): void;
  /** Says that none is held any more, and then no more. */
  farewell(): Promise<void>;
}

interface Enough {
  /** Orders; 0: any number. */
  readonly conversionsPerWorker: number;
  /** Without an order; 0: for ever. */
  readonly idleSeconds: number;
}

/** @param given what the worker is called, if it is */
export const workerName = (given: string | undefined): string =>
  given ??
  `${hostname()
    .replace(/[^A-Za-z0-9_-]/g, '-')
    .slice(0, 40)}-${process.pid}`;

export function present(
  nats: Nats,
  about: Pick<Presence, 'pool' | 'toolchain' | 'worker' | 'slots' | 'engines'>,
  { conversionsPerWorker, idleSeconds }: Enough,
  faultNow: () => Fault | undefined = () => undefined,
): Present {
  const enough = Promise.withResolvers<string>();
  let leaving: 'draining' | 'drained' | undefined;
  let [busy, taken, ended, busyMs, busySince] = [0, 0, 0, 0, 0];
  let idle: NodeJS.Timeout | undefined;
  let turns: NodeJS.Timeout | undefined;

  const now = () => ({ state: leaving ?? (busy > 0 ? ('busy' as const) : ('idle' as const)), slots: about.slots, busy, taken, ended });
  const say = () => {
    const busySeconds = busy > 0 ? Math.floor((performance.now() - busySince) / 1000) : 0;
    const unwell = faultNow();
    const word = { version: PRESENCE_VERSION, ...about, ...now(), busyMs: Math.round(busyMs), busySeconds };
    publishPresence(nats, { ...word, ...(unwell !== undefined && { unwell }) });
  };
  const saySoon = () => {
    turns ??= setTimeout(() => {
      turns = undefined;
      say();
    }, TOGETHER_MS);
  };
  // All workers of a pool may have started together: they do not leave together.
  const idleMs = idleSeconds * 1000 * (0.8 + 0.4 * Math.random());
  const rest = () => {
    if (idleMs > 0) idle = setTimeout(() => enough.resolve('it had no order for a long time'), idleMs).unref();
  };
  let reserved = 0;
  const hasPlace = () => conversionsPerWorker === 0 || taken + reserved < conversionsPerWorker;
  const take = () => {
    clearTimeout(idle);
    const began = performance.now();
    if (busy++ === 0) busySince = began;
    taken++;
    saySoon();
    return () => {
      busyMs += performance.now() - began;
      ended++;
      if (--busy === 0) rest();
      saySoon();
      if (conversionsPerWorker > 0 && taken >= conversionsPerWorker) enough.resolve('it has done as many orders as it may');
    };
  };

  const timer = setInterval(say, PRESENCE_MS);
  say();
  rest();
  return {
    reserve() {
      if (!hasPlace()) return undefined;
      reserved++;
      return {
        take() {
          reserved--;
          return take();
        },
        cancel() {
          reserved--;
        },
      };
    },
    now,
    changed: saySoon,
    enough: enough.promise,
    leave() {
      leaving ??= 'draining';
      say();
    },
    async farewell() {
      clearInterval(timer);
      clearTimeout(idle);
      clearTimeout(turns);
      leaving = 'drained';
      say();
      const late = Promise.withResolvers<void>();
      const patience = setTimeout(late.resolve, FAREWELL_MS);
      await Promise.race([nats.core.flush().catch(() => {}), late.promise]);
      clearTimeout(patience);
    },
  };
}
