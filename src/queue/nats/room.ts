/** Whether a pool's stream is full, by one request to the servers. */
import type { Nats } from '../../nats/connection.ts';
import { type Room, roomOver } from '../room.ts';
import { streamOf } from './pool.ts';

/** How long an answer is reused, ms: far below the time that a place stays free under load. */
const REUSE = { roomMs: 100, fullMs: 25 };

export const openRoom = ({ manager, withRetry }: Nats): Room =>
  roomOver(async (pool) => {
    const { config, state } = await withRetry('to see whether there is room', () => manager.streams.info(streamOf(pool)), 0);
    return config.max_msgs > 0 && state.messages >= config.max_msgs;
  }, REUSE);
