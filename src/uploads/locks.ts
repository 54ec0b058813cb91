/** Admits one request at a time to each upload within this process. Between processes, the record's revision decides. */
import { Failure } from '../errors.ts';
import { onAbort } from '../streams/abort.ts';

/** The interface of `@tus/server`. A later request asks the holder to release the lock: the holder's connection may have died unnoticed. */
interface Lock {
  lock(signal: AbortSignal, requestRelease: () => Promise<void> | void): Promise<void>;
  unlock(): Promise<void>;
}

interface Holder {
  readonly requestRelease: () => Promise<void> | void;
  readonly released: PromiseWithResolvers<void>;
}

/** How long a request waits for the lock, ms. */
const WAIT_MS = 10_000;

export function uploadLocks(): { newLock(id: string): Lock } {
  const holders = new Map<string, Holder>();
  return {
    newLock(id) {
      const own: PromiseWithResolvers<void> = Promise.withResolvers();
      return {
        async lock(signal, requestRelease) {
          const waiting = AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)]);
          for (let holder = holders.get(id); holder !== undefined; holder = holders.get(id)) {
            await holder.requestRelease();
            await releasedBefore(holder, waiting);
          }
          holders.set(id, { requestRelease, released: own });
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
async function releasedBefore({ released }: Holder, waiting: AbortSignal): Promise<void> {
  const late: PromiseWithResolvers<void> = Promise.withResolvers();
  const refuse = () => late.reject(new Failure('UPLOAD_CONFLICT', { says: 'Another request is writing to this upload.' }));
  const unsubscribe = onAbort(waiting, refuse);
  try {
    await Promise.race([released.promise, late.promise]);
  } finally {
    unsubscribe();
  }
}
