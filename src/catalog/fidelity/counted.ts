/** Properties that are a number of things, of which a result may have more, but not fewer. */
import type { FidelityProperty } from './fidelity.ts';

interface Counting<Facts, RequestOptions> {
  readonly name: string;
  /** Undefined where it was not read. */
  readonly count: (facts: Facts) => number | undefined;
  readonly fits: (format: string, source: Facts) => boolean;
  readonly asked?: (options: RequestOptions, source: Facts, result: Facts) => boolean;
  /** Behind the number. */
  readonly of?: string;
  /** So many fewer are no loss. @param all of the source */
  readonly tolerance?: (all: number) => number;
  /** Whether the two do not tell a loss though both were read. */
  readonly unsure?: (source: Facts, result: Facts) => boolean;
  readonly promised?: FidelityProperty<Facts, RequestOptions>['promised'];
}

export const counted = <Facts, RequestOptions>({
  name,
  count,
  fits,
  asked = () => false,
  of = '',
  tolerance = () => 0,
  unsure = () => false,
  promised = () => false,
}: Counting<Facts, RequestOptions>): FidelityProperty<Facts, RequestOptions> => ({
  name,
  show: (facts) => {
    const found = count(facts);
    return found === undefined || found === 0 ? undefined : `${found}${of}`;
  },
  same: (source, result) => (count(result) ?? -1) >= (count(source) ?? 0) - tolerance(count(source) ?? 0),
  asked,
  unsure: (source, result) => count(result) === undefined || unsure(source, result),
  fits,
  promised,
});

/** @param formats separated by spaces @returns whether a format is one of them */
export const among = (formats: string): ((format: string) => boolean) => {
  const all = new Set(formats.split(' '));
  return (format) => all.has(format);
};
