/** Whether several servers store a pool's stream: queried now and then, as an administrator may change it at any time. */
import type { Nats } from '../../nats/connection.ts';

/** How long an answer is cached, ms. */
const CACHED_MS = 60_000;

interface Known {
  readonly at: number;
  readonly replicated: Promise<boolean>;
}

/** @returns the query; true if the server does not answer */
export function replicationOver({ manager, withRetry }: Nats): (stream: string) => Promise<boolean> {
  const known = new Map<string, Known>();
  const ask = (stream: string) =>
    withRetry('to see how a pool is kept', () => manager.streams.info(stream), 0).then(
      ({ config }) => config.num_replicas > 1,
      () => true,
    );
  return (stream) => {
    const last = known.get(stream);
    if (last !== undefined && performance.now() - last.at < CACHED_MS) return last.replicated;
    const next = { at: performance.now(), replicated: ask(stream) };
    known.set(stream, next);
    return next.replicated;
  };
}
