/** Declares pools for as long as this process runs: after the last replica that lists a pool ends, its declaration expires. */
import { CONFIGURED, type PoolDeclaration } from '../../contracts/messages/pool.ts';
import type { Nats } from '../../nats/connection.ts';
import { Contested } from '../registry.ts';
import { declarePool } from './declarations.ts';

/** How long a declaration lasts, ms. During an upgrade replicas have different lists: none removes what another declares. */
const LAPSES_MS = 10 * 60_000;
const AGAIN_MS = 2 * 60_000;

/** @param report called for pools that could not be declared @returns a function that stops declaring @throws Contrary · Unavailable */
export async function keepDeclared(nats: Nats, pools: readonly PoolDeclaration[], report: (error: Error) => void): Promise<() => void> {
  /** A contested pool is reported by every replica that lists it, but it is no reason not to serve. */
  const unlessContested = (error: unknown) => {
    if (!(error instanceof Contested)) throw error;
    report(error);
  };
  const declare = async () => {
    for (const pool of pools) await declarePool(nats, pool, LAPSES_MS, CONFIGURED).catch(unlessContested);
  };
  await declare();
  const again = () => void declare().catch(report);
  const timer = setInterval(again, AGAIN_MS);
  const unsubscribe = nats.onReconnect(again);
  return () => {
    clearInterval(timer);
    unsubscribe();
  };
}
