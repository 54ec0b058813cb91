/** Tables: rows of text to records and back. */
import { boundCells, type Datum, type Entries, fieldsFrom, isList, isTable, type Scalar } from './value.ts';

export type CsvTypes = 'as_written' | 'auto';

/** A number that looks the same when it is read and written again: at most 15 digits (IEEE 754), no zeros to lose. */
const PLAIN = /^-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{0,14}[1-9])?$/;
/** What JavaScript may read as a number, but for its other notations and the empty text. */
const NUMBER = /^[-+.0-9][-+.0-9e]{0,40}$/i;
const digitsOf = (text: string): number => text.replace(/\D/g, '').length;
export const isPlain = (text: string): boolean => PLAIN.test(text) && digitsOf(text) <= 15;

export interface RecordTable {
  readonly names: readonly string[];
  readonly value: readonly Entries[];
}

/** The first row names the columns; what has no name, or one that was taken, gets one. */
export function recordsOf(rows: readonly (readonly string[])[], types: CsvTypes): RecordTable {
  const [head = [], ...body] = rows;
  const width = body.reduce((most, row) => Math.max(most, row.length), head.length);
  boundCells(body.length, width);
  const names = columnNames(head, width);
  const numeric = names.map((_, at) => body.every((row) => (row[at] ?? '') === '' || isPlain(row[at] ?? '')));
  const typed = (text: string, at: number): Scalar => {
    if (text === '') return text;
    if (types === 'auto') return autoTyped(text.trim());
    return numeric[at] === true ? Number(text) : text;
  };
  return { names, value: body.map((row) => fieldsFrom(names.map((name, at) => [name, typed(row[at] ?? '', at)]))) };
}

/** The same for cells that have types. */
export function typedRecordsOf(rows: readonly (readonly Scalar[])[]): RecordTable {
  const [head = [], ...body] = rows;
  const widthOf = (row: readonly Scalar[]) => row.findLastIndex((cell) => cell !== null) + 1;
  const width = rows.reduce((most, row) => Math.max(most, widthOf(row)), 0);
  boundCells(body.length, width);
  const names = columnNames(
    head.map((cell) => (cell === null ? '' : String(cell))),
    width,
  );
  return { names, value: body.map((row) => fieldsFrom(names.map((name, at) => [name, row[at] ?? null]))) };
}

function autoTyped(text: string): Scalar {
  if (text === 'true' || text === 'false') return text === 'true';
  const number = NUMBER.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) && (Number.isSafeInteger(number) || digitsOf(text) <= 17) ? number : text;
}

/** @param head what the columns are called, where they have a name @param width how many there are */
export function columnNames(head: readonly string[], width: number): readonly string[] {
  const taken = new Map<string, number>();
  return Array.from({ length: width }, (_, at) => {
    const wanted = head[at]?.trim() || `column_${at + 1}`;
    let number = taken.get(wanted) ?? 0;
    if (number === 0) {
      taken.set(wanted, 1);
      return wanted;
    }
    do number++;
    while (taken.has(`${wanted}_${number}`));
    const name = `${wanted}_${number}`;
    // The next one goes on from there.
    taken.set(wanted, number).set(name, 1);
    return name;
  });
}

export interface Rows {
  readonly names: readonly string[];
  readonly rows: readonly (readonly Scalar[])[];
  /** Whether a record had values within one. */
  readonly nested: boolean;
  /** Keys beside the list of records, which no row has. */
  readonly beside: readonly string[];
}

/**
 * The list of records in a value: the value itself, or the only list in objects with one key each, as XML and TOML have around one, or the only list of
 * objects beside single values, as answers of services have around one.
 * @param head names of columns, also where no record has them
 */
export function rowsOf(value: Datum, head: readonly string[] = []): Rows {
  const { records, beside } = listIn(value);
  let nested = false;
  const flat = records.map((record) => {
    const fields = new Map<string, Scalar>();
    const add = (path: string, each: Datum): void => {
      if (typeof each !== 'object' || each === null) fields.set(path === '' ? 'value' : path, each);
      else {
        if (path !== '') nested = true;
        const entries = isList(each) ? each.map((one, at) => [String(at + 1), one] as const) : Object.entries(each);
        for (const [key, one] of entries) add(path === '' ? key : `${path}.${key}`, one);
      }
    };
    add('', record);
    return fields;
  });
  const names = [...new Set([...head, ...flat.flatMap((fields) => [...fields.keys()])])];
  boundCells(flat.length, names.length);
  return { names, rows: flat.map((fields) => names.map((name) => fields.get(name) ?? null)), nested, beside };
}

interface FoundList {
  readonly records: readonly Datum[];
  readonly beside: readonly string[];
}

export function listIn(value: Datum): FoundList {
  if (isList(value)) return { records: value, beside: [] };
  if (!isTable(value)) return { records: [value], beside: [] };
  const entries = Object.entries(value).filter(([key]) => !key.startsWith('@'));
  const [only] = entries;
  if (entries.length === 1 && only !== undefined && (isList(only[1]) || isTable(only[1]))) return listIn(only[1]);
  const lists = entries.filter(([, each]) => isList(each) && each.length > 0 && each.every(isTable));
  const others = entries.filter(([, each]) => !(isList(each) && each.length > 0 && each.every(isTable)));
  const [list] = lists;
  const isAnswer = lists.length === 1 && others.every(([, each]) => (isList(each) ? each.length === 0 : !isTable(each)));
  if (!isAnswer || list === undefined || !isList(list[1])) return { records: [value], beside: [] };
  return { records: list[1], beside: others.map(([key]) => key) };
}
