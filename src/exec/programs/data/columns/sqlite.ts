/** Databases of SQLite (sqlite.org, "Datatypes In SQLite"), by the library in Node. What a file brings with it is not run: no triggers, views or extensions. */

import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Binary, Bool, DataType, DateDay, type Field, Float64, Int64, type Table, TimestampMicrosecond, type Vector } from 'apache-arrow';
import { FileRefused } from '../values/value.ts';
import { type Column, TEXT, tableFrom } from './make.ts';
import { dayOf, isDay, isMoment, microsOf } from './moments.ts';
import { datumOf, decimalText, jsonOf } from './plain.ts';
import { type Budget, budgetOf, damaged, isBytesColumn, isTextColumn, plainType, type Raw, rawsOf, spend, spendBytes } from './raw.ts';
import { refusing } from './refusing.ts';

export interface NamedTable {
  readonly name: string;
  readonly table: Table;
}

export interface TableDatabase {
  readonly tables: readonly NamedTable[];
  readonly warnings: readonly string[];
}

const MOST_TABLES = 500;
/** Bytes of one value, and of a row. */
const MOST_LENGTH = 256 << 20;
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** @throws FileRefused */
export function readSqlite(path: string): TableDatabase {
  return refusing(() => {
    const address = pathToFileURL(path);
    // Nothing beside it is read, such as a journal, and nothing is locked.
    address.search = '?immutable=1';
    const database = new DatabaseSync(address, {
      readOnly: true,
      allowExtension: false,
      enableForeignKeyConstraints: false,
      defensive: true,
      limits: { length: MOST_LENGTH },
    });
    try {
      database.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0');
      const { shown, left } = tablesIn(database);
      if (shown.length === 0) throw new FileRefused('corrupt_input', 'The database has no table.');
      if (shown.length > MOST_TABLES)
        throw new FileRefused('input_limit', undefined, { limit: 'tables', max: MOST_TABLES, received: shown.length });
      const budget = budgetOf();
      const [mixed, calculated]: [string[], string[]] = [[], []];
      const tables = shown.map((name) => ({ name, table: tableFrom(columnsOf(database, name, budget, mixed, calculated)) }));
      return {
        tables,
        warnings: [
          ...(mixed.length === 0 ? [] : [`Columns with values of several types are text: ${mixed.slice(0, 8).join(', ')}.`]),
          ...(calculated.length === 0
            ? []
            : [`Columns that are calculated when they are read are not part of the result: ${calculated.slice(0, 8).join(', ')}.`]),
          ...(left === 0 ? [] : [`Views and virtual tables are not part of the result: ${left}.`]),
        ],
      };
    } finally {
      database.close();
    }
  });
}

/** As SQLite itself writes what a table is made of; a comment could hide another word from a test for virtual ones. */
const ORDINARY = /^CREATE TABLE[\s("'[`]/i;
/** Tables in which a virtual one keeps its data, by its module (sqlite.org, "The Virtual Table Mechanism Of SQLite", 2.18). `PRAGMA table_list` knows them, and runs the modules. */
const SHADOWS: Readonly<Record<string, readonly string[]>> = {
  fts3: ['content', 'docsize', 'segdir', 'segments', 'stat'],
  fts4: ['content', 'docsize', 'segdir', 'segments', 'stat'],
  fts5: ['config', 'content', 'data', 'docsize', 'idx'],
  geopoly: ['node', 'parent', 'rowid'],
  rtree: ['node', 'parent', 'rowid'],
  rtree_i32: ['node', 'parent', 'rowid'],
};
const MODULE = /\sUSING\s+"?(\w{1,20})/i;

/** @returns names of tables that have their own rows, and how many others there are */
function tablesIn(database: DatabaseSync): { readonly shown: readonly string[]; readonly left: number } {
  const schema = database
    .prepare(
      "SELECT name, type, sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rootpage, name",
    )
    .all()
    .map(({ name, type, sql }) => ({ name: String(name), sql: String(sql), isOrdinary: type === 'table' && ORDINARY.test(String(sql)) }));
  const others = schema.filter(({ isOrdinary }) => !isOrdinary);
  const shadows = new Set(
    others.flatMap(({ name, sql }) => {
      const [, module = ''] = MODULE.exec(sql) ?? [];
      return (SHADOWS[module.toLowerCase()] ?? []).map((suffix) => `${name}_${suffix}`.toLowerCase());
    }),
  );
  const shown = schema.filter(({ name, isOrdinary }) => isOrdinary && !shadows.has(name.toLowerCase())).map(({ name }) => name);
  return { shown, left: others.length };
}

/** `hidden` in `PRAGMA table_xinfo`: a column that is calculated when it is read, from whatever the file says. */
const CALCULATED = 2n;

type Stored = null | number | bigint | string | Uint8Array;

function columnsOf(database: DatabaseSync, table: string, budget: Budget, mixed: string[], calculated: string[]): readonly Column[] {
  const information = database.prepare('SELECT name, hidden FROM pragma_table_xinfo(?)');
  information.setReadBigInts(true);
  const all = information.all(table);
  calculated.push(...all.filter(({ hidden }) => hidden === CALCULATED).map(({ name }) => `${table}.${name}`));
  const own = all.filter(({ hidden }) => hidden !== CALCULATED).map(({ name }) => quoted(String(name)));
  if (own.length === 0) throw damaged();
  const statement = database.prepare(`SELECT ${own.join(', ')} FROM ${quoted(table)}`);
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  const columns = statement.columns().map(({ name, type }) => ({ name, declared: (type ?? '').toUpperCase(), values: [] as Stored[] }));
  for (const row of statement.iterate() as unknown as Iterable<readonly Stored[]>)
    for (const [at, { values }] of columns.entries()) {
      const value = row[at] ?? null;
      spend(budget);
      if (typeof value === 'string' || value instanceof Uint8Array) spendBytes(budget, value.length);
      values.push(value);
    }
  return columns.map(({ name, declared, values }) => {
    const typed = typeOf(declared, values);
    if (typed === undefined) mixed.push(`${table}.${name}`);
    const { type, raw } = typed ?? { type: TEXT, raw: textOf };
    return { name, type, values: values.map((value) => (value === null ? null : raw(value))) };
  });
}

const textOf = (value: Stored): Raw => (value instanceof Uint8Array ? Buffer.from(value).toString('base64') : String(value));

/** By what is stored: a column of SQLite may have values of any type, whatever it is declared as. */
function typeOf(declared: string, all: readonly Stored[]): { readonly type: DataType; readonly raw: (value: Stored) => Raw } | undefined {
  const values = all.filter((value) => value !== null);
  const every = (test: (value: Stored) => boolean) => values.every(test);
  const isWhole = (value: Stored): value is bigint => typeof value === 'bigint';
  if (values.length === 0) return ofDeclared(declared);
  if (/^BOOL/.test(declared) && every((value) => value === 0n || value === 1n)) return { type: new Bool(), raw: (value) => value === 1n };
  if (every(isWhole) && !/REAL|FLOA|DOUB/.test(declared)) return { type: new Int64(), raw: (value) => value as bigint };
  if (every((value) => typeof value === 'number' || (isWhole(value) && Number.isSafeInteger(Number(value)))))
    return { type: new Float64(), raw: Number };
  if (every((value) => value instanceof Uint8Array)) return { type: new Binary(), raw: (value) => value as Uint8Array };
  if (!every((value) => typeof value === 'string')) return undefined;
  if (declared === 'DATE' && every((value) => isDay(String(value)))) return { type: new DateDay(), raw: (value) => dayOf(String(value)) };
  if (/^(?:DATETIME|TIMESTAMP)/.test(declared) && every((value) => isMoment(String(value)))) {
    const zoned = new Set(values.map((value) => String(value).endsWith('Z')));
    const [isZoned] = zoned;
    if (zoned.size === 1) return { type: new TimestampMicrosecond(isZoned ? 'UTC' : null), raw: (value) => microsOf(String(value)) };
  }
  return { type: TEXT, raw: textOf };
}

/** What a column without a value is. */
function ofDeclared(declared: string): { readonly type: DataType; readonly raw: (value: Stored) => Raw } {
  const type = /INT/.test(declared)
    ? new Int64()
    : /REAL|FLOA|DOUB/.test(declared)
      ? new Float64()
      : /^BLOB/.test(declared)
        ? new Binary()
        : TEXT;
  return { type, raw: textOf };
}

/** @param path of a file that is not there yet */
export function writeSqlite(path: string, tables: readonly NamedTable[]): readonly string[] {
  const database = new DatabaseSync(path, { allowExtension: false });
  const warnings = new Set<string>();
  try {
    database.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
    const budget = budgetOf();
    const names = distinct(tables.map(({ name }) => (/^sqlite_/i.test(name) ? `_${name}` : name)));
    for (const [place, { table }] of tables.entries()) {
      const { fields } = table.schema;
      if (fields.length === 0) throw new FileRefused('unsupported_variant', 'The table has no column, which SQLite does not allow.');
      if (fields.length > MOST_COLUMNS)
        throw new FileRefused('input_limit', undefined, { limit: 'columns of a table', max: MOST_COLUMNS, received: fields.length });
      const columns = distinct(fields.map(({ name }) => name || 'column'));
      const name = quoted(names[place] ?? 'data');
      database.exec(
        `CREATE TABLE ${name} (${columns.map((each, at) => `${quoted(each)} ${declaredAs((fields[at] as Field).type, table.getChildAt(at) as Vector)}`).join(', ')})`,
      );
      const insert = database.prepare(`INSERT INTO ${name} VALUES (${columns.map(() => '?').join(', ')})`);
      const cells = fields.map(({ type }, at) => ({ type, values: rawsOf(table.getChildAt(at) as never, budget) }));
      for (let row = 0; row < table.numRows; row++)
        insert.run(...cells.map(({ type, values }) => stored(type, values.next().value ?? null, warnings)));
    }
    database.exec('COMMIT');
  } finally {
    database.close();
  }
  return [...warnings];
}

/** SQLITE_MAX_COLUMN */
const MOST_COLUMNS = 2_000;

/** Names that differ in more than capitals. */
function distinct(names: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let free = name;
    for (let number = 2; taken.has(free.toLowerCase()); number++) free = `${name}_${number}`;
    taken.add(free.toLowerCase());
    return free;
  });
}

/** Digits that a double keeps. A column with the affinity NUMERIC or INTEGER makes doubles of longer numbers, one with the word TEXT leaves them (sqlite.org, "Datatypes In SQLite", 3.1). */
const MOST_DIGITS = 15;

function declaredAs(of: DataType, column: Vector): string {
  const type = plainType(of);
  if (DataType.isBool(type)) return 'BOOLEAN';
  if (DataType.isInt(type) && type.bitWidth === 64 && !type.isSigned && rawsOf(column, budgetOf()).some(isBeyondLong))
    return 'TEXT DECIMAL(20,0)';
  if (DataType.isInt(type) || DataType.isDuration(type)) return 'INTEGER';
  if (DataType.isFloat(type)) return 'REAL';
  if (DataType.isDecimal(type)) {
    const isLong = Math.max(type.precision, type.precision - type.scale) > MOST_DIGITS;
    return `${isLong ? 'TEXT ' : ''}DECIMAL(${type.precision},${type.scale})`;
  }
  if (DataType.isDate(type)) return 'DATE';
  if (DataType.isTimestamp(type)) return 'TIMESTAMP';
  if (DataType.isTime(type)) return 'TIME';
  if (isBytesColumn(type)) return 'BLOB';
  return isTextColumn(type) || DataType.isNull(type) ? 'TEXT' : 'JSON TEXT';
}

const isBeyondLong = (value: Raw): boolean => typeof value === 'bigint' && BigInt.asIntN(64, value) !== value;

function stored(of: DataType, value: Raw, warnings: Set<string>): Stored {
  if (value === null) return null;
  const type = plainType(of);
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'number' && DataType.isFloat(type)) {
    if (Number.isNaN(value)) warnings.add('SQLite has no "not a number": such values are NULL.');
    return value;
  }
  if (DataType.isDecimal(type)) return decimalText(value as bigint, type.scale);
  if (typeof value === 'bigint' && (DataType.isInt(type) || DataType.isDuration(type))) return isBeyondLong(value) ? String(value) : value;
  if (value instanceof Uint8Array || typeof value === 'string') return value;
  const shown = datumOf(of, value);
  return typeof shown === 'object' ? jsonOf(shown) : typeof shown === 'boolean' ? Number(shown) : shown;
}
