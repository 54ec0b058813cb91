/** How often a test repeats what it does: a run that draws its tables (`DRAW`) repeats less. */

/** Set by scripts/test.ts: of a table one row in so many; 0 or absent where nothing is drawn from a run of all files. */
const tableShare = Number(process.env['TEST_TABLES'] || 0);

/** @param all in a run of everything @param drawn in one that draws */
export const rounds = (all: number, drawn: number): number => (tableShare > 1 ? drawn : all);
