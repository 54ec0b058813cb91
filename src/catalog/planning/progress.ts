/** How far our own programs have come, by the lines that they print. */

/** @returns the share that `5 of 20` tells, 1 at most; undefined for any other line */
export function shareOf(line: string): number | undefined {
  const [, done, all] = /^(\d+) of (\d+)$/.exec(line) ?? [];
  return done === undefined ? undefined : Math.min(1, Number(done) / Number(all));
}
