/** What a syntax is: how its text becomes values, and values its text. */
import type { CsvTypes } from './records.ts';
import { asValue, type Datum, Unfit } from './value.ts';

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
export const asWritten = (text: string): WrittenText => ({ text: text.endsWith('\n') ? text : `${text}\n`, warnings: [] });

export const damaged = (what: string) => new Unfit('corrupt_input', what);
/** The stack of a library ended before ours counted. */
export const tooDeep = () => new Unfit('input_limit', undefined, { limit: 'levels', max: 200, received: 1000 });

/** @throws Unfit for whatever a library throws */
export function readBy<Result>(library: () => Result): Result {
  try {
    return library();
  } catch (error) {
    if (error instanceof Unfit) throw error;
    throw error instanceof RangeError ? tooDeep() : damaged(error instanceof Error ? error.message : 'unreadable');
  }
}
