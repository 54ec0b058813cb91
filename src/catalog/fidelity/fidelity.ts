/** What a conversion did to a file, property by property. */
import type { PropertyVerdict } from '../../contracts/api/job.ts';

/** A property that a kind of file has. `Facts` are what was read of one file of that kind. */
export interface FidelityProperty<Facts, RequestOptions> {
  readonly name: string;
  /** As people read it; undefined: the file does not have it, or it was not read. */
  readonly show: (facts: Facts) => string | undefined;
  /** Whether two files have the same; unset: whether they show the same. */
  readonly same?: (source: Facts, result: Facts) => boolean;
  /** Whether the request explains a difference. */
  readonly asked?: (options: RequestOptions, source: Facts, result: Facts) => boolean;
  /** Whether what the two files say is not enough to tell a loss. */
  readonly unsure?: (source: Facts, result: Facts) => boolean;
  /** Whether a file in the format can have the source's value at all. */
  readonly fits: (format: string, source: Facts) => boolean;
  /** Whether a result that has nothing of it can only be the converter's fault. Asked where it is lost: measured on both sides, with room for it, and unexplained. */
  readonly promised?: (source: Facts, result: Facts) => boolean;
}

export interface JudgedProperty extends PropertyVerdict {
  /** Lost, and no file explains that: the conversion is wrong. */
  readonly isBroken?: true;
}

/** @param properties of the kind that both files are of @param target the result's format */
export function compare<Facts, RequestOptions>(
  properties: readonly FidelityProperty<Facts, RequestOptions>[],
  source: Facts,
  result: Facts,
  options: RequestOptions,
  target: string,
): readonly JudgedProperty[] {
  return properties.flatMap(({ name, show, same, asked, unsure, fits, promised }) => {
    const [before, after] = [show(source), show(result)];
    if (before === undefined) return [];
    const isSame = same === undefined ? before === after : same(source, result);
    if (isSame) return [{ property: name, outcome: 'kept' as const, source: before }];
    const outcome = outcomeOf();
    const isBroken = outcome === 'lost' && after === undefined && promised?.(source, result) === true;
    return [{ property: name, outcome, source: before, ...(after !== undefined && { result: after }), ...(isBroken && { isBroken }) }];

    function outcomeOf(): PropertyVerdict['outcome'] {
      if (asked?.(options, source, result) === true) return 'asAsked';
      if (!fits(target, source)) return 'adapted';
      return unsure?.(source, result) === true ? 'unknown' : 'lost';
    }
  });
}
