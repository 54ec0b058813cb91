/** A syntax reads values from a text, and writes values as a text. */
import { placeOf } from './json-scan.ts';
import type { CsvTypes } from './records.ts';
import { asValue, beyond, type Datum, FileRefused, MOST_LEVELS } from './value.ts';

export interface Read {
  readonly value: Datum;
  /** Columns of a table, in their order, also where it has no rows. */
  readonly names?: readonly string[];
  /** What clients are told. */
  readonly warnings: readonly string[];
}

export interface WrittenText {
  readonly text: string;
  readonly warnings: readonly string[];
}

export interface Syntax {
  /** @throws FileRefused */
  readonly read: (text: string, types: CsvTypes) => Read;
  /** @param names of the columns of a table without rows @throws FileRefused */
  readonly write: (value: Datum, names?: readonly string[]) => WrittenText;
}

export const asRead = (found: unknown): Read => ({ value: asValue(found), warnings: [] });
export const asWritten = (text: string, ...warnings: readonly string[]): WrittenText => ({
  text: text.endsWith('\n') ? text : `${text}\n`,
  warnings,
});

const damaged = () => new FileRefused('corrupt_input');

/** @param line counted from 1 @param column counted from 1 */
export const syntaxErrorAt = (syntax: string, line: number, column: number): FileRefused =>
  new FileRefused('corrupt_input', `The file is not valid ${syntax}: there is a mistake in line ${line}, column ${column}.`);

export function syntaxErrorIn(syntax: string, text: string, offset: number): FileRefused {
  const { line, column } = placeOf(text, offset);
  return syntaxErrorAt(syntax, line, column);
}

/** @param lines of keys that their object has before, counted from 1 */
export function duplicateKeyWarning(syntax: string, lines: readonly number[]): string {
  const [first = 0] = lines;
  return `An object has the same key twice, as in line ${first} of the ${syntax}: the last value is kept.`;
}

/** @throws FileRefused for whatever a library throws */
export function readBy<Result>(library: () => Result): Result {
  try {
    return library();
  } catch (error) {
    if (error instanceof FileRefused) throw error;
    const message = error instanceof Error ? error.message : 'unreadable';
    // The library has used up the stack before our own count of levels, or it counts them itself.
    const isDeep = error instanceof RangeError || message.startsWith('Maximum nested tags');
    throw isDeep ? beyond('levels', MOST_LEVELS) : damaged();
  }
}
