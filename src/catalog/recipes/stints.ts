/** Divides a recipe among pools: each does in one go what it can, and the files that others need pass through the store between. Pure. */
import type { Unit } from './plan.ts';
import { type Recipe, referencesOf } from './recipe.ts';

/** What one pool does of a recipe, in this order. */
export interface Stint {
  readonly pool: string;
  /** Number of the step, and the format of the inputs; null: all inputs together. */
  readonly runs: readonly (readonly [step: number, format: string | null])[];
}

/**
 * As few stints as follow from always going on with the pool that has begun.
 * @param poolOf the pool for a unit; one that is named, where that can do it @throws what `poolOf` throws
 */
export function stintsOf(
  recipe: Recipe,
  units: readonly Unit[],
  poolOf: (unit: Unit, named: string | undefined) => string,
): readonly Stint[] {
  const waiting = new Set(units);
  const isReady = ({ step }: Unit): boolean =>
    referencesOf(recipe, step).every((reference) => ![...waiting].some((other) => other.step === reference.step));
  const stints: { pool: string; runs: (readonly [number, string | null])[] }[] = [];
  while (waiting.size > 0) {
    const current = stints.at(-1);
    const ready = [...waiting].filter(isReady);
    const next = ready.find((unit) => poolOf(unit, current?.pool) === current?.pool) ?? ready[0];
    if (next === undefined) throw new Error('a recipe with a circle');
    const pool = poolOf(next, current?.pool);
    const stint = current?.pool === pool ? current : { pool, runs: [] };
    if (stint !== current) stints.push(stint);
    stint.runs.push([next.step, next.format ?? null]);
    waiting.delete(next);
  }
  return stints;
}
