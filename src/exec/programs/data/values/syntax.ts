/** What a syntax is: how its text becomes values, and values its text. */
import type { CsvTypes } from './records.ts';
import { asValue, beyond, type Datum, MOST_LEVELS, Unfit } from './value.ts';

export interface Read {
  readonly value: Datum;
  /** What clients are told. */
  readonly warnings: readonly string[];
}

export interface WrittenText {
  readonly text: string;
  readonly warnings: readonly string[];
}

export interface Syntax {
  /** @throws Unfit */
  readonly read: (text: string, types: CsvTypes) => Read;
  /** @throws Unfit */
  readonly write: (value: Datum) => WrittenText;
}

export const asRead = (found: unknown): Read => ({ value: asValue(found), warnings: [] });
export const asWritten = (text: string, ...warnings: readonly string[]): WrittenText => ({
  text: text.endsWith('\n') ? text : `${text}\n`,
  warnings,
});

export const damaged = (what: string) => new Unfit('corrupt_input', what);

/** @throws Unfit for whatever a library throws */
export function readBy<Result>(library: () => Result): Result {
  try {
    return library();
  } catch (error) {
    if (error instanceof Unfit) throw error;
    const message = error instanceof Error ? error.message : 'unreadable';
    // The stack of a library ended before ours counted, or the parser of XML has counted.
    const isDeep = error instanceof RangeError || message.startsWith('Maximum nested tags');
    throw isDeep ? beyond('levels', MOST_LEVELS) : damaged(message);
  }
}
