/** How many columns the rows of one table of HTML have (HTML, 4.9.12 "Forming a table"). */

/** What browsers take at most (HTML, 4.9.11). */
const MOST_COLUMNS = 1_000;
const MOST_ROWS = 65_534;

export class TableColumns {
  /** Columns of the widest row, with those that cells of rows above reach into. */
  widest = 0;
  /** Columns that the cells of one row have together, at most: Pandoc 2.17 leaves out what a table has beyond these. */
  ownMost = 0;
  #own = 0;
  #row = 0;
  /** Columns of this row's cells that reach into later rows. */
  #added = 0;
  /** Columns that cells of rows above reach into, and by the row, how many fewer these are from there on. */
  #covered = 0;
  readonly #ends = new Map<number, number>();

  /** Cells do not reach from a head into a body. */
  section(): void {
    this.#covered = 0;
    this.#ends.clear();
  }

  row(): void {
    this.#row++;
    this.#own = 0;
    this.#covered -= this.#ends.get(this.#row) ?? 0;
    this.#ends.delete(this.#row);
    this.#added = 0;
  }

  /** @param columns @param rows as their attributes say; NaN where there is none */
  cell(columns: number, rows: number): void {
    const wide = columns >= 1 ? Math.min(Math.trunc(columns), MOST_COLUMNS) : 1;
    const high = rows === 0 ? MOST_ROWS : rows >= 1 ? Math.min(Math.trunc(rows), MOST_ROWS) : 1;
    this.#own += wide;
    if (high > 1) {
      const end = this.#row + high;
      this.#ends.set(end, (this.#ends.get(end) ?? 0) + wide);
      this.#covered += wide;
      this.#added += wide;
    }
    this.ownMost = Math.max(this.ownMost, this.#own);
    this.widest = Math.max(this.widest, this.#own + this.#covered - this.#added);
  }
}
