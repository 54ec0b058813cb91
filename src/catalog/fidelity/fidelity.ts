/** What a conversion did to a file, property by property: the words of a receipt. */

/**
 * - `kept`: the result has what the source had.
 * - `asAsked`: it differs, and an option of the request explains it.
 * - `adapted`: the target cannot contain it, and has the nearest instead.
 * - `lost`: the result does not have it.
 * - `unknown`: one side could not be measured.
 */
export const outcomes = ['kept', 'asAsked', 'adapted', 'lost', 'unknown'] as const;
export type Outcome = (typeof outcomes)[number];

/** What became of one property. */
export interface Verdict {
  /** The property, as programs read it: `alpha`, `frame_rate`. */
  readonly property: string;
  readonly outcome: Outcome;
  /** As people read it: `4000 × 3000 px`, `transparent`. Of what is kept, one value is enough. */
  readonly source?: string;
  readonly result?: string;
}

/** A property that a kind of file has. `Facts` are what was read of one file of that kind. */
export interface Property<Facts, Wish> {
  readonly name: string;
  /** As people read it; undefined: the file does not have it, or it was not read. */
  readonly show: (facts: Facts) => string | undefined;
  /** Whether two files have the same; unset: whether they show the same. */
  readonly same?: (source: Facts, result: Facts) => boolean;
  /** Whether the request explains a difference. */
  readonly asked?: (wish: Wish, source: Facts, result: Facts) => boolean;
  /** Whether what the two files say is not enough to tell a loss. */
  readonly unsure?: (source: Facts, result: Facts) => boolean;
  /** Whether a file in the format can have the source's value at all. */
  readonly fits: (format: string, source: Facts) => boolean;
}

/** @param properties of the kind that both files are of @param target the result's format */
export function compare<Facts, Wish>(
  properties: readonly Property<Facts, Wish>[],
  source: Facts,
  result: Facts,
  wish: Wish,
  target: string,
): readonly Verdict[] {
  return properties.flatMap(({ name, show, same, asked, unsure, fits }) => {
    const [before, after] = [show(source), show(result)];
    if (before === undefined) return [];
    const isSame = same === undefined ? before === after : same(source, result);
    if (isSame) return [{ property: name, outcome: 'kept' as const, source: before }];
    const outcome = outcomeOf();
    return [{ property: name, outcome, source: before, ...(after !== undefined && { result: after }) }];

    function outcomeOf(): Outcome {
      if (asked?.(wish, source, result) === true) return 'asAsked';
      if (!fits(target, source)) return 'adapted';
      return unsure?.(source, result) === true ? 'unknown' : 'lost';
    }
  });
}
