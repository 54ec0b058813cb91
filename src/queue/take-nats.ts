/** Takes from several lanes at once, and keeps one order: whatever else was handed out goes back at once. */
import type { Lane } from '../contracts/order.ts';
import type { Nats } from '../nats/connection.ts';
import { ask, type Handed } from '../nats/pull.ts';
import { onAbort } from '../streams/abort.ts';
import { nakFor } from './nak-nats.ts';
import { streamOf } from './pool-nats.ts';

export interface Taker {
  /**
   * @param waitMs 0: only what is there at once
   * @returns undefined when no lane has one in time, or on abort
   * @throws TimeoutError · RequestError when a lane does not answer
   */
  take(pool: string, lanes: readonly Lane[], waitMs: number, signal: AbortSignal): Promise<Handed | undefined>;
  /** Resolves when nothing that was asked for can come any more: within the longest `waitMs`, as a rule. */
  settled(): Promise<void>;
}

export function takerOver(nats: Nats): Taker {
  const open = new Set<Promise<void>>();

  return {
    take(pool, lanes, waitMs, signal) {
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

      const hear = async (lane: Lane): Promise<void> => {
        try {
          const handed = await ask(nats, streamOf(pool), lane, waitMs);
          answers++;
          if (handed !== undefined && decided) await handed.say(nakFor(0));
          else if (handed !== undefined || answers === lanes.length) decide(() => resolve(handed));
        } catch (error) {
          // Too late to matter to anybody, it lapses.
          decide(() => reject(error));
        }
      };
      for (const lane of lanes) {
        const heard = hear(lane).finally(() => open.delete(heard));
        open.add(heard);
      }
      return promise;
    },

    async settled() {
      await Promise.all(open);
    },
  };
}
