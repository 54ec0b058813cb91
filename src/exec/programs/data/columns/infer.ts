/** Columns with types from records that have none written down. */
import { Bool, type DataType, DateDay, Field, Float64, Int64, Struct, TimestampMicrosecond } from 'apache-arrow';
import { beyond, boundCells, type Datum, isList, isTable } from '../values/value.ts';
import { type Column, listType, TEXT } from './make.ts';
import { dayOf, isDay, isMoment, microsOf } from './moments.ts';
import { jsonOf } from './plain.ts';
import type { Raw } from './raw.ts';

export interface Inferred {
  readonly columns: readonly Column[];
  /** Those that had values of several kinds, and are text. */
  readonly mixed: readonly string[];
}

/** Fields of structures that a column may have, one within the other counted: more are kept as JSON. */
const MOST_FIELDS = 500;
const MOST_DEPTH = 16;
/** Each has a description of some hundred bytes beside its values. */
export const MOST_COLUMNS = 50_000;

/**
 * @param dated texts that are all days or moments by ISO 8601 are such: those of a table, where nothing else can say so
 * @param head names of columns, also where there is no record @throws FileRefused where there are too many columns, or records have few keys in common
 */
export function infer(records: readonly Datum[], dated: boolean, head: readonly string[] = []): Inferred {
  const names = [...new Set([...head, ...records.flatMap((record) => (isTable(record) ? Object.keys(record) : ['value']))])];
  if (names.length > MOST_COLUMNS) throw beyond('columns of a table', MOST_COLUMNS, names.length);
  const cells = { count: 0 };
  spendCells(cells, records.length, names.length);
  const mixed: string[] = [];
  const columns = names.map((name) => {
    const written = records.map((record) => (isTable(record) ? (record[name] ?? null) : name === 'value' ? record : null));
    // In a table, what is empty is no text where the others are none.
    const isAllText = written.every((value) => value === null || typeof value === 'string');
    const values = dated && !isAllText ? written.map((value) => (value === '' ? null : value)) : written;
    const typed = typeOf(values, { dated, cells, fields: 0, depth: 0 });
    if (typed === undefined) mixed.push(name);
    const { type, raw } = typed ?? AS_TEXT;
    return { name, type, values: values.map((value) => (value === null ? null : raw(value))) };
  });
  return { columns, mixed };
}

interface Typed {
  readonly type: DataType;
  readonly raw: (value: Datum) => Raw;
}
interface Cells {
  count: number;
}
interface State {
  readonly dated: boolean;
  /** All columns together. */
  readonly cells: Cells;
  fields: number;
  readonly depth: number;
}

function spendCells(cells: Cells, rows: number, columns: number): void {
  cells.count += rows * columns;
  boundCells(cells.count, 1);
}

const AS_TEXT: Typed = {
  type: TEXT,
  raw: (value) => (typeof value === 'object' ? jsonOf(value) : String(value)),
};

const fitsLong = (value: Datum): boolean =>
  typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : typeof value === 'number' && Number.isSafeInteger(value);

/** @returns undefined where they are of several kinds */
function typeOf(all: readonly Datum[], state: State): Typed | undefined {
  const values = all.filter((value) => value !== null);
  const every = (test: (value: Datum) => boolean) => values.every(test);
  if (values.length === 0) return AS_TEXT;
  if (every((value) => typeof value === 'boolean')) return { type: new Bool(), raw: (value) => value as boolean };
  if (every(fitsLong)) return { type: new Int64(), raw: (value) => BigInt(value as number) };
  if (every((value) => typeof value === 'number')) return { type: new Float64(), raw: (value) => value as number };
  const written = values.filter((value) => value !== '');
  const isEach = (test: (text: string) => boolean) =>
    state.dated && written.length > 0 && written.every((value) => typeof value === 'string' && test(value));
  if (isEach(isDay)) return { type: new DateDay(), raw: (value) => (value === '' ? null : dayOf(String(value))) };
  if (isEach(isMoment)) {
    const zones = new Set(written.map((value) => String(value).endsWith('Z')));
    const [zoned] = zones;
    if (zones.size === 1)
      return { type: new TimestampMicrosecond(zoned ? 'UTC' : null), raw: (value) => (value === '' ? null : microsOf(String(value))) };
  }
  if (every((value) => typeof value === 'string')) return { type: TEXT, raw: (value) => value as string };
  if (every(isList)) return listed(values as readonly (readonly Datum[])[], state);
  if (every(isTable)) return structured(values as readonly { readonly [key: string]: Datum }[], state);
  return undefined;
}

function listed(values: readonly (readonly Datum[])[], state: State): Typed {
  const item = state.depth < MOST_DEPTH ? typeOf(values.flat(), nested(state)) : undefined;
  if (item === undefined) return AS_TEXT;
  return { type: listType(item.type), raw: (value) => (value as readonly Datum[]).map((each) => (each === null ? null : item.raw(each))) };
}

function structured(values: readonly { readonly [key: string]: Datum }[], state: State): Typed {
  const names = [...new Set(values.flatMap((value) => Object.keys(value)))];
  state.fields += names.length;
  // Parquet has no structure without fields.
  if (names.length === 0 || state.fields > MOST_FIELDS || state.depth >= MOST_DEPTH) return AS_TEXT;
  spendCells(state.cells, values.length, names.length);
  const inner = nested(state);
  const fields = names.map(
    (name) =>
      [
        name,
        typeOf(
          values.map((value) => value[name] ?? null),
          inner,
        ) ?? AS_TEXT,
      ] as const,
  );
  return {
    type: new Struct(fields.map(([name, { type }]) => new Field(name, type, true))),
    raw: (value) => {
      const record = value as { readonly [key: string]: Datum };
      return new Map(fields.map(([name, { raw }]) => [name, record[name] == null ? null : raw(record[name])]));
    },
  };
}

/** Counts on from what was found. */
const nested = (state: State): State => ({
  ...state,
  dated: false,
  depth: state.depth + 1,
  get fields() {
    return state.fields;
  },
  set fields(count) {
    state.fields = count;
  },
});
