/** What a conversion did to a file, property by property. */
import type { PropertyVerdict } from '../../contracts/api/job.ts';

/** A property that a kind of file has. `Facts` are what was read of one file of that kind. */
export interface FidelityProperty<Facts, Wish> {
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
  properties: readonly FidelityProperty<Facts, Wish>[],
  source: Facts,
  result: Facts,
  wish: Wish,
  target: string,
): readonly PropertyVerdict[] {
  return properties.flatMap(({ name, show, same, asked, unsure, fits }) => {
    const [before, after] = [show(source), show(result)];
    if (before === undefined) return [];
    const isSame = same === undefined ? before === after : same(source, result);
    if (isSame) return [{ property: name, outcome: 'kept' as const, source: before }];
    const outcome = outcomeOf();
    return [{ property: name, outcome, source: before, ...(after !== undefined && { result: after }) }];

    function outcomeOf(): PropertyVerdict['outcome'] {
      if (asked?.(wish, source, result) === true) return 'asAsked';
      if (!fits(target, source)) return 'adapted';
      return unsure?.(source, result) === true ? 'unknown' : 'lost';
    }
  });
}
