/** Takes from several bands at once, and keeps one order: whatever else was handed out goes back at once. */
import { lanes } from '../../contracts/messages/order.ts';
import type { Nats } from '../../nats/connection.ts';
import { ask, type Handed, NoAnswerer } from '../../nats/pull.ts';
import { onAbort } from '../../streams/abort.ts';
import { nakFor } from './delivery.ts';
import { streamOf } from './pool.ts';

/** After so long it is looked again whether a band is there, ms. */
const LACKING_MS = 2_000;

export interface Taker {
  /**
   * @param waitMs 0: only what is there at once
   * @returns undefined when no band has one in time, or on abort
   * @throws TimeoutError · RequestError when a band does not answer
   */
  take(pool: string, bands: readonly string[], waitMs: number, signal: AbortSignal): Promise<Handed | undefined>;
  /** Resolves when nothing that was asked for can come any more: within the longest `waitMs`, as a rule. */
  settled(): Promise<void>;
}

export function takerOver(nats: Nats): Taker {
  const open = new Set<Promise<void>>();
  /** Bands that nobody answered for, and until when they are not asked. */
  const lacking = new Map<string, number>();

  /** In a pool that an older filemill made there are the first bands alone, which are called as their lanes. */
  function passedBy(pool: string, band: string, error: unknown): undefined {
    if (!(error instanceof NoAnswerer) || lanes.some((lane) => lane === band)) throw error;
    lacking.set(`${pool} ${band}`, performance.now() + LACKING_MS);
  }

  return {
    take(pool, wanted, waitMs, signal) {
      const bands = wanted.filter((band) => (lacking.get(`${pool} ${band}`) ?? 0) <= performance.now());
      const { promise, resolve, reject } = Promise.withResolvers<Handed | undefined>();
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

      const hear = async (band: string): Promise<void> => {
        try {
          const handed = await ask(nats, streamOf(pool), band, waitMs).catch((error: unknown) => passedBy(pool, band, error));
          answers++;
          if (handed !== undefined && decided) await handed.say(nakFor(0));
          else if (handed !== undefined || answers === bands.length) decide(() => resolve(handed));
        } catch (error) {
          // Too late to matter to anybody, it lapses.
          decide(() => reject(error));
        }
      };
      if (bands.length === 0) decide(() => resolve(undefined));
      for (const band of bands) {
        const heard = hear(band).finally(() => open.delete(heard));
        open.add(heard);
      }
      return promise;
    },

    async settled() {
      await Promise.all(open);
    },
  };
}
