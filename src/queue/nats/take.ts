/** Pulls from several bands in parallel, and keeps one order: any others delivered are released immediately. */
import { lanes } from '../../contracts/messages/order.ts';
import type { Nats } from '../../nats/connection.ts';
import { ask, countTurns, NoAnswerer, nakFor, type PulledMessage, type ThreadDelays } from '../../nats/pull.ts';
import { onAbort } from '../../streams/abort.ts';
import { streamOf } from './pool.ts';

/** How long a missing band is skipped before it is tried again, ms. */
const LACKING_MS = 2_000;

export interface Taker {
  /**
   * @param waitMs 0: only an order that is available now
   * @returns undefined if no band has one in time, or on abort
   * @throws TimeoutError · RequestError if a band does not respond
   */
  take(pool: string, bands: readonly string[], waitMs: number, signal: AbortSignal): Promise<PulledMessage | undefined>;
  /** Resolves when no pull is open any more: usually within the longest `waitMs`. */
  settled(): Promise<void>;
}

export function takerOver(nats: Nats): Taker {
  const open = new Set<Promise<void>>();
  /** While pulls are open. */
  let turns: ThreadDelays | undefined;
  /** Bands without a responder, and until when they are skipped. */
  const lacking = new Map<string, number>();

  /** A pool that an older filemill created has only the first bands, which are named as their lanes. */
  function skipMissing(pool: string, band: string, error: unknown): undefined {
    if (!(error instanceof NoAnswerer) || lanes.some((lane) => lane === band)) throw error;
    lacking.set(`${pool} ${band}`, performance.now() + LACKING_MS);
  }

  return {
    take(pool, wanted, waitMs, signal) {
      const bands = wanted.filter((band) => (lacking.get(`${pool} ${band}`) ?? 0) <= performance.now());
      const { promise, resolve, reject } = Promise.withResolvers<PulledMessage | undefined>();
      let decided = false;
      let answers = 0;
      const decide = (settle: () => void) => {
        if (decided) return;
        decided = true;
        unsubscribe();
        settle();
      };
      let unsubscribe = () => {};
      unsubscribe = onAbort(signal, () => decide(() => resolve(undefined)));

      const pullFrom = async (band: string): Promise<void> => {
        try {
          const consumer = { stream: streamOf(pool), consumer: band };
          turns ??= countTurns();
          const message = await ask(nats, consumer, waitMs, turns).catch((error: unknown) => skipMissing(pool, band, error));
          answers++;
          if (message !== undefined && decided) await message.say(nakFor(0));
          else if (message !== undefined || answers === bands.length) decide(() => resolve(message));
        } catch (error) {
          // If another band has decided already, this is dropped; an unreleased order is redelivered after its ack wait.
          decide(() => reject(error));
        }
      };
      if (bands.length === 0) decide(() => resolve(undefined));
      for (const band of bands) {
        const pulling = pullFrom(band).finally(() => {
          open.delete(pulling);
          if (open.size > 0) return;
          turns?.[Symbol.dispose]();
          turns = undefined;
        });
        open.add(pulling);
      }
      return promise;
    },

    async settled() {
      await Promise.all(open);
    },
  };
}
