/** A job that was being moved to another pool when its mover died: nobody takes it where it is, so the move is ended. */
import { isLeaving } from '../jobs/lifecycle.ts';
import { LOST_AFTER_MS } from './lost-order.ts';
import type { Action, Seen } from './seen.ts';

export const cutOffMove = ({ now, record }: Seen): Action | undefined =>
  isLeaving(record) && now - (record.moved?.at ?? 0) > LOST_AFTER_MS ? { do: 'move' } : undefined;
