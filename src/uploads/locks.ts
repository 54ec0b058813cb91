/** One request at a time for each upload, within this process; between processes the record's revision decides. */
import { Failure } from '../errors.ts';
import { onAbort } from '../streams/abort.ts';

/** As `@tus/server` wants it: whoever comes later asks the holder to come to an end, who may be one whose connection died unnoticed. */
interface Lock {
  lock(signal: AbortSignal, giveUp: () => Promise<void> | void): Promise<void>;
  unlock(): Promise<void>;
}

interface Holder {
  readonly giveUp: () => Promise<void> | void;
  readonly freed: PromiseWithResolvers<void>;
}

/** How long a request waits for its turn, ms. */
const WAIT_MS = 10_000;

export function uploadLocks(): { newLock(id: string): Lock } {
  const holders = new Map<string, Holder>();
  return {
    newLock(id) {
      const own: PromiseWithResolvers<void> = Promise.withResolvers();
      return {
        async lock(signal, giveUp) {
          const waiting = AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)]);
          for (let holder = holders.get(id); holder !== undefined; holder = holders.get(id)) {
            await holder.giveUp();
            await freedBefore(holder, waiting);
          }
          holders.set(id, { giveUp, freed: own });
        },
        async unlock() {
          holders.delete(id);
          own.resolve();
        },
      };
    },
  };
}

/** @throws Failure `UPLOAD_CONFLICT` */
async function freedBefore({ freed }: Holder, waiting: AbortSignal): Promise<void> {
  const late: PromiseWithResolvers<void> = Promise.withResolvers();
  const refuse = () => late.reject(new Failure('UPLOAD_CONFLICT', { says: 'Another request is writing to this upload.' }));
  const unsubscribe = onAbort(waiting, refuse);
  try {
    await Promise.race([freed.promise, late.promise]);
  } finally {
    unsubscribe();
  }
}
