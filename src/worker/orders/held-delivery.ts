/** A delivery in the hands of a worker; where its order is delivered again meanwhile, the latest counts. */
import type { Delivery } from '../../queue/queue.ts';

/** By job id: the callback of the worker that runs it. It takes over a redelivery of the order, whose ack wait passed while this process was late. */
export type HeldDeliveries = Map<string, (again: Delivery) => void>;

export interface HeldDelivery extends Pick<Delivery, 'extend' | 'release' | 'isWaitedFor' | 'isOneOfSeveral' | 'giveWay' | 'done'> {
  readonly jobId: string;
  /** Another worker may have been given the order since. */
  readonly late: boolean;
  /** Another worker may have been given the order before, and be at work on it. */
  readonly contested: boolean;
  /** Takes the order back, for the worker that the job's record still names. */
  regain(): Promise<void>;
  /** Says nothing, and extends it no longer: it is redelivered once its ack wait has passed. */
  forgo(): void;
  forget(): void;
}

/** From here on the latest delivery of the order is what is extended, released and acknowledged. */
export function hold(heldDeliveries: HeldDeliveries, delivery: Delivery): HeldDelivery {
  const { jobId } = delivery.order;
  let last = delivery;
  const adopt = (again: Delivery) => {
    // Both would be extended, and the end of one does not end the other.
    last.forgo?.();
    last = again;
  };
  heldDeliveries.set(jobId, adopt);
  const forget = () => {
    if (heldDeliveries.get(jobId) === adopt) heldDeliveries.delete(jobId);
  };
  return {
    jobId,
    late: delivery.late === true,
    contested: delivery.contested === true,
    forget,
    extend: () => last.extend(),
    regain: async () => last.regain?.(),
    forgo: () => last.forgo?.(),
    isWaitedFor: () => last.isWaitedFor(),
    isOneOfSeveral: () => last.isOneOfSeveral(),
    giveWay() {
      forget();
      return last.giveWay();
    },
    release(delayMs) {
      forget();
      return last.release(delayMs);
    },
    done() {
      forget();
      return last.done();
    },
  };
}
