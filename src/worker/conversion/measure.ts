/** Measures what a file has, for the receipt: the judge reads it, and an engine what the judge does not. What cannot be measured costs no conversion. */
import type { Catalog } from '../../catalog/catalog.ts';
import type { Facts } from '../../catalog/engine.ts';
import { Failure } from '../../errors.ts';
import type { Judge } from '../../judge/judge.ts';
import { type HopDeps, limitsFor } from './run-hop.ts';

/** @param path of a file of ours */
export const measureContents = (judge: Judge, format: string, path: string): Promise<Facts> => orNothing(judge.contentsOf(format, path));

interface Measured {
  readonly format: string;
  /** Absolute path, in `base`. */
  readonly path: string;
  readonly base: string;
  readonly signal: AbortSignal;
}

/** A few pages of print take a tenth of a second. */
const MOST_MS = 5_000;

/** By a confined program, for so long at most, where this worker has one that reads the format. */
export async function measureByEngine(
  { catalog, stepper, judge, limits }: Pick<HopDeps, 'stepper' | 'judge' | 'limits'> & { readonly catalog: Catalog },
  { format, path, base, signal }: Measured,
): Promise<Facts> {
  const engine = catalog.engines.find(({ measures }) => measures?.formats.has(format));
  if (engine?.measures === undefined) return {};
  const allowed = limitsFor(engine, limits, [path]);
  const where = { engine, folder: base, limits: { ...allowed, wallMs: Math.min(allowed.wallMs, MOST_MS) }, signal, onProgress: () => {} };
  const step = engine.measures.step(path);
  const read = stepper
    .run(step, where)
    .then(({ stdout }) => judge.factsOf({ engine: engine.id, measures: true }, stdout, { source: format, target: format, options: {} }));
  const facts = await orNothing(read);
  signal.throwIfAborted();
  return facts;
}

function orNothing(facts: Promise<Facts>): Promise<Facts> {
  return facts.catch((error: unknown) => {
    if (error instanceof Failure) return {};
    throw error;
  });
}
