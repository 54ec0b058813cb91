/** Which known names a mistyped one is near to. */

/** A longer name was not mistyped, characters. */
const LONGEST = 40;

/** @returns at most `most` of the known names, the nearest first; of equally near ones, the first */
export function nearest(sent: string, known: readonly string[], most: number): readonly string[] {
  const name = sent.slice(0, LONGEST).toLowerCase();
  return known
    .map((one) => ({ one, far: distance(one.slice(0, LONGEST), name) }))
    .toSorted((a, b) => a.far - b.far)
    .slice(0, most)
    .map(({ one }) => one);
}

/** Edits that make one name of the other (Levenshtein); both are short. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length] ?? 0;
}
