/** TOML 1.0. */
import { parse, stringify, TomlDate, TomlError } from 'smol-toml';
import { asRead, asWritten, readBy, type Syntax, syntaxErrorAt, type WrittenText } from './syntax.ts';
import { type Datum, type Entries, FileRefused, fieldsFrom, isList, isTable, MOST_LEVELS } from './value.ts';

/** Its dates know whether they have a time and a zone, and print so. */
function withoutDates(found: unknown): unknown {
  if (found instanceof TomlDate) return found.toISOString();
  if (Array.isArray(found)) return found.map(withoutDates);
  if (typeof found !== 'object' || found === null) return found;
  return new Map(Object.entries(found).map(([key, value]) => [key, withoutDates(value)]));
}

function parsed(text: string): unknown {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded', maxDepth: MOST_LEVELS });
  } catch (error) {
    throw error instanceof TomlError ? syntaxErrorAt('TOML', error.line, error.column) : error;
  }
}

/** A table outside, no null, whole numbers of 64 bits. */
function write(value: Datum): WrittenText {
  let nulls = 0;
  const isThere = (each: Datum): boolean => {
    if (each === null) nulls++;
    return each !== null;
  };
  const clean = (each: Datum): Datum => {
    if (typeof each === 'bigint' && BigInt.asIntN(64, each) !== each)
      throw new FileRefused('unsupported_variant', 'A whole number in the data is larger than TOML can hold.');
    if (isList(each)) return each.filter(isThere).map(clean);
    return isTable(each)
      ? fieldsFrom(Object.entries(each).flatMap(([key, one]) => (isThere(one) ? [[key, clean(one)] as const] : [])))
      : each;
  };
  const table: Entries = isTable(value) ? value : { items: isList(value) ? value : [value] };
  const text = stringify(clean(table));
  return nulls === 0 ? asWritten(text) : asWritten(text, 'TOML has no null: values without content were left out.');
}

export const toml: Syntax = {
  read: (text) => asRead(readBy(() => withoutDates(parsed(text)))),
  write,
};
