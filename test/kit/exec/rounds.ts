/** How often a test repeats what it does, and how much of a story it tells: less in a run that draws rows of tables. */
import { draw } from '../../plan.ts';

/** Set by scripts/test.ts in `make test`. */
const seed = process.env['TEST_SEED'] ?? '';
const isDrawn = seed !== '';

/** @param all in a run of everything @param drawn in `make test` */
export const rounds = (all: number, drawn: number): number => (isDrawn ? drawn : all);

/** What a test goes through one after the other: all of it, or one in `share` in `make test`, by its seed. */
export const some = <T extends readonly [name: string, ...unknown[]]>(all: readonly T[], share: number): readonly T[] => {
  const taken = draw(
    all.map(([name]) => name),
    isDrawn ? share : 'whole',
    seed,
  );
  return all.filter((_, place) => taken.has(place));
};
