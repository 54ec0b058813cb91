/** A worker: pulls one order after the other, when it is its turn, and has each processed. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Lane } from '../../contracts/messages/order.ts';
import type { Delivery, Queue } from '../../queue/queue.ts';
import type { EngineHealth } from '../health.ts';
import { type HeldDeliveries, hold } from './held-delivery.ts';
import type { PoolSlots, SlotTurn } from './pool-slots.ts';
import { type OrderDeps, processOrder } from './process-order.ts';

export interface WorkerDeps extends OrderDeps {
  readonly queue: Queue;
  /** Shared by all workers of one process. */
  readonly heldDeliveries: HeldDeliveries;
  /** Called before an order is pulled. Where it returns undefined, this worker stops pulling for good. */
  readonly reserve?: () => OrderReservation | undefined;
  /** Shared by all workers of the pool in this process; unset: there is no express slot. */
  readonly slots?: PoolSlots;
  readonly health?: Pick<EngineHealth, 'ready' | 'isReady' | 'fault' | 'classifyError' | 'close'>;
}

/** One of the orders that a worker may take. Disposed of when the order has been dealt with, or where none was pulled. */
export interface OrderReservation extends Disposable {
  /** An order was pulled. */
  take(): void;
}

export interface WorkerLoop {
  /** Stops pulling, waits `graceMs` for the order in hand, then releases it. */
  drain(graceMs: number): Promise<void>;
}

/** How long an idle slot waits for an order before it asks again, ms: each asking costs a machine at rest. */
const PULL_MS = 60_000;
/** The same for an express slot, which is to ask only while all others are busy. Jitter is added, so that many workers do not pull at once. */
const EXPRESS_PULL_MS = 1_000;
const BULK_FIRST_EVERY = 4;
/** How long a worker that could not pull or finish an order waits before it pulls again, ms. */
const FAULT_MS = 200;

export function startWorker(deps: WorkerDeps): WorkerLoop {
  const stopping = new AbortController();
  const dropping = new AbortController();
  const ended = takeOrders(deps, stopping.signal, dropping.signal);
  return {
    async drain(graceMs) {
      stopping.abort();
      const timer = setTimeout(() => dropping.abort(), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** One after the other, until the worker stops or may take no more. @param dropped aborted when a drain waits no longer for the order in hand */
async function takeOrders(deps: WorkerDeps, stopping: AbortSignal, dropped: AbortSignal): Promise<void> {
  const slot = deps.express === true ? undefined : deps.slots?.enter();
  let mayTakeMore = true;
  for (let turn = 1; mayTakeMore && !stopping.aborted; turn++) {
    mayTakeMore = await takeOrder(deps, { turn, slot, stopping, dropped }).catch(async (err: unknown) => {
      slot?.leave();
      deps.log.error({ pool: deps.pool, err }, 'the worker could not pull or finish an order');
      await pause(FAULT_MS);
      return true;
    });
  }
  slot?.leave();
}

interface Turn {
  /** From 1 on. */
  readonly turn: number;
  /** Undefined for the express slot, and where slots do not take turns. */
  readonly slot: SlotTurn | undefined;
  readonly stopping: AbortSignal;
  readonly dropped: AbortSignal;
}

/** Waits for the worker's turn, pulls an order, and takes it to its end. @returns whether the worker may take more */
async function takeOrder(deps: WorkerDeps, { turn, slot, stopping, dropped }: Turn): Promise<boolean> {
  const { express = false, health, heldDeliveries, reserve = unbounded } = deps;
  const healthy = await health?.ready(stopping);
  if (express) await deps.slots?.untilFull(stopping);
  const myTurn = await slot?.next(stopping);
  if (stopping.aborted) return false;

  // An express slot reserves what it has: one that waits for all others to be busy must not keep an order from them.
  using beforePull = express ? unbounded() : reserve();
  // The orders that may still be taken are reserved by other workers.
  if (beforePull === undefined) return false;
  const delivery = await pull(deps, turn, either(myTurn ?? stopping, healthy));
  if (delivery === undefined) return true;
  const adopt = heldDeliveries.get(delivery.order.jobId);
  if (adopt !== undefined) {
    adopt(delivery);
    return true;
  }
  // This worker became unhealthy while it waited: another may take the order at once.
  if (health !== undefined && !(await health.isReady())) {
    await delivery.release(0);
    return true;
  }
  using afterPull = express ? reserve() : unbounded();
  if (afterPull === undefined) {
    await delivery.release(0);
    return false;
  }

  beforePull.take();
  afterPull.take();
  using _ = slot?.occupy();
  await processDelivery(deps, delivery, dropped);
  return true;
}

const either = (one: AbortSignal, other: AbortSignal | undefined): AbortSignal =>
  other === undefined ? one : AbortSignal.any([one, other]);
const unbounded = (): OrderReservation => ({ take: () => {}, [Symbol.dispose]: () => {} });

function pull({ queue, pool, express = false }: WorkerDeps, turn: number, signal: AbortSignal): Promise<Delivery | undefined> {
  if (express) return queue.pullExpress(pool, EXPRESS_PULL_MS * (1 + Math.random()), signal);
  const lanes: Lane[] = turn % BULK_FIRST_EVERY === 0 ? ['bulk', 'interactive'] : ['interactive', 'bulk'];
  return queue.pull(pool, lanes, PULL_MS * (1 + Math.random()), signal);
}

async function processDelivery(deps: WorkerDeps, delivery: Delivery, dropped: AbortSignal): Promise<void> {
  const held = hold(deps.heldDeliveries, delivery);
  try {
    await processOrder(deps, held, dropped);
  } catch (error) {
    // What keeps it alive would extend it for as long as this process runs, and no other worker would get it.
    held.forgo();
    throw error;
  } finally {
    held.forget();
  }
}
