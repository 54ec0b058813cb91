/** How often a test repeats what it does: a run that draws its tables repeats less. */

/** Set by scripts/test.ts: what a run of all files takes of a table, one row in so many; 0 in `make test`, where `TEST_SEED` draws. */
const tableShare = Number(process.env['TEST_TABLES'] || 0);
const isDrawn = (process.env['TEST_SEED'] ?? '') !== '';

/** @param all in a run of everything @param inCi in one of all files that draws their tables @param inTest in `make test` */
export const rounds = (all: number, inCi: number, inTest = inCi): number => (!isDrawn ? all : tableShare > 1 ? inCi : inTest);
