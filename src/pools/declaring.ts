/** Declares pools for as long as this process lives: what the last replica that lists a pool leaves behind lapses by itself. */
import { CONFIGURED, type PoolDeclaration } from '../contracts/messages/pool.ts';
import type { Nats } from '../nats/connection.ts';
import { Contested } from './claims.ts';
import { declarePool } from './declarations.ts';

/** During an upgrade replicas have different lists: none takes away what another declares, ms. */
const LAPSES_MS = 10 * 60_000;
const AGAIN_MS = 2 * 60_000;

/** @param report is told of what could not be declared again @returns unsubscribe @throws Contrary · Unavailable */
export async function keepDeclared(nats: Nats, pools: readonly PoolDeclaration[], report: (error: Error) => void): Promise<() => void> {
  /** Of the replicas that list it, all say so: it is no reason not to serve. */
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
