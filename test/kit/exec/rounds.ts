/** How often a test repeats what it does: a run that draws rows of tables repeats less. */

/** Set by scripts/test.ts in `make test`. */
const isDrawn = (process.env['TEST_SEED'] ?? '') !== '';

/** @param all in a run of everything @param drawn in `make test` */
export const rounds = (all: number, drawn: number): number => (isDrawn ? drawn : all);
