/**
 * Tables with typed columns: Parquet, Arrow, Avro and SQLite to each other and to CSV, TSV, JSON, JSON Lines and flat sheets, and back.
 *
 *   columns.ts INPUT SOURCE FOLDER TARGET (as_written|auto) [CHARSET]
 *
 * INPUT may be a folder of rows with the types of their cells, a file for each sheet. FOLDER gets a file for each table; where the target has room for several,
 * all are in one. The word before CHARSET says which values of a CSV are numbers, as `values.ts` reads it. Prints one line of JSON, as residents answer.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DataType, type Table } from 'apache-arrow';
import { answering, lossy, type Told } from '../process/answer.ts';
import { decodeText, toldOf } from '../text/charset.ts';
import { readAvro, writeAvro } from './columns/avro.ts';
import { infer, MOST_COLUMNS } from './columns/infer.ts';
import { readArrow, writeArrow } from './columns/ipc.ts';
import { tableFrom } from './columns/make.ts';
import { readParquet, writeParquet } from './columns/parquet.ts';
import { datumOf } from './columns/plain.ts';
import { budgetOf, plainType, rawsOf } from './columns/raw.ts';
import { type NamedTable, readSqlite, writeSqlite } from './columns/sqlite.ts';
import { writeFlatSheets } from './values/flat-sheet.ts';
import { json, jsonl } from './values/json.ts';
import { listIn } from './values/records.ts';
import { cells, csv, leftOut, tsv } from './values/rows.ts';
import type { Syntax, WrittenText } from './values/syntax.ts';
import { beyond, type Datum, type Entries, FileRefused, fieldsFrom } from './values/value.ts';

const SYNTAXES: Readonly<Record<string, Syntax>> = { csv, json, jsonl, tsv };
const READ_ONLY: Readonly<Record<string, Pick<Syntax, 'read'>>> = { rows: cells };
/** Whose texts may be days and moments: nothing else can say so there. */
const UNTYPED = new Set(['csv', 'tsv', 'rows']);
const VERSION = '1.0';
/** Bytes of text, as values they take up to ten times as much memory; bytes of columns. */
const [MOST_TEXT, MOST_BYTES] = [64 << 20, 256 << 20];

const [input = '', source = '', folder = '', target = '', types = 'as_written', charset] = process.argv.slice(2);

interface Found {
  readonly tables: readonly NamedTable[];
  readonly told: readonly Told[];
}

if (input === '--version') process.stdout.write(`columns ${VERSION}\n`);
else
  await answering(async () => {
    const { tables, told } = await readTables();
    return [...told, ...lossy(writeTables(tables))];
  });

/** @throws FileRefused */
async function readTables(): Promise<Found> {
  const { tables, told } = await readFiles();
  for (const { table } of tables) {
    const columns = table.schema.fields.length;
    // Rows without a value would be counted by nothing.
    if (columns === 0) throw new FileRefused('corrupt_input', 'The table has no column.');
    if (columns > MOST_COLUMNS) throw beyond('columns of a table', MOST_COLUMNS, columns);
  }
  return { tables, told };
}

async function readFiles(): Promise<Found> {
  const text = SYNTAXES[source] ?? READ_ONLY[source];
  const files = statSync(input).isDirectory()
    ? readdirSync(input)
        .filter((name) => name.endsWith(`.${source}`))
        .sort()
        .map((name) => join(input, name))
    : [input];
  const size = files.reduce((sum, path) => sum + statSync(path).size, 0);
  const most = text === undefined ? MOST_BYTES : MOST_TEXT;
  if (size > most) throw beyond('bytes of data', most, size);
  if (text !== undefined) {
    const read = files.map((path) => readText(path, text)).filter(({ named }) => named.table.schema.fields.length > 0);
    if (read.length === 0) throw new FileRefused('corrupt_input', 'The file has no row and no column.');
    return { tables: read.map(({ named }) => named), told: read.flatMap(({ told }) => told) };
  }
  const one = (table: Table, ...warnings: readonly string[]): Found => ({ tables: [{ name: 'data', table }], told: lossy(warnings) });
  switch (source) {
    case 'parquet':
      return one(await readParquet(readFileSync(input)));
    case 'arrow':
      return one(readArrow(readFileSync(input)));
    case 'avro': {
      const { table, asText } = readAvro(readFileSync(input));
      return one(
        table,
        ...(asText.length === 0 ? [] : [`Columns with values of several types are text: ${asText.slice(0, 8).join(', ')}.`]),
      );
    }
    case 'sqlite': {
      const { tables, warnings } = readSqlite(input);
      return { tables, told: lossy(warnings) };
    }
    default:
      throw new Error(`no reader: ${source}`);
  }
}

function readText(path: string, from: Pick<Syntax, 'read'>): { readonly named: NamedTable; readonly told: readonly Told[] } {
  const decoded = decodeText(readFileSync(path), [], charset);
  const { value, names, warnings } = from.read(decoded.text, types === 'auto' ? 'auto' : 'as_written');
  const { records, beside } = listIn(value);
  const { columns, mixed } = infer(records, UNTYPED.has(source), names);
  const told = [
    ...warnings,
    ...leftOut({ nested: false, beside }),
    ...(mixed.length === 0 ? [] : [`Columns with values of several types are text: ${mixed.slice(0, 8).join(', ')}.`]),
  ];
  const name = source === 'rows' ? basename(path, '.rows').replace(/^\d{3,5} /, '') : 'data';
  return { named: { name, table: tableFrom(columns) }, told: [...toldOf(decoded), ...lossy(told)] };
}

/** @returns what the results lack */
function writeTables(tables: readonly NamedTable[]): readonly string[] {
  if (target === 'sqlite') return writeSqlite(join(folder, 'data.sqlite'), tables);
  if (target === 'fods') {
    const { text, warnings } = writeFlatSheets(
      tables.map(({ name, table }) => ({ name, value: recordsOf(table), names: headOf(table), dated: datesIn(table) })),
    );
    writeFileSync(join(folder, 'table.fods'), text);
    return warnings;
  }
  if (target === 'json') return writeText('data', json.write(jsonValue(tables)));
  return tables.flatMap(({ name, table }, at) => {
    const called = tables.length === 1 ? 'data' : `${String(at + 1).padStart(3, '0')} ${name.replace(/[\p{C}/\\]/gu, '_').slice(0, 60)}`;
    const syntax = SYNTAXES[target];
    return syntax === undefined ? writeColumns(called, table) : writeText(called, syntax.write(recordsOf(table), headOf(table)));
  });
}

function jsonValue(tables: readonly NamedTable[]): Datum {
  const [only] = tables;
  if (tables.length === 1 && only !== undefined) return recordsOf(only.table);
  return fieldsFrom(tables.map(({ name, table }) => [name, recordsOf(table)] as const));
}

function writeText(name: string, { text, warnings }: WrittenText): readonly string[] {
  writeFileSync(join(folder, `${name}.${target}`), text);
  return warnings;
}

function writeColumns(name: string, table: Table): readonly string[] {
  const path = join(folder, `${name}.${target}`);
  if (target === 'parquet') writeFileSync(path, writeParquet(table));
  else if (target === 'arrow') writeFileSync(path, writeArrow(table));
  else if (target === 'avro') {
    const { bytes, warnings } = writeAvro(table);
    writeFileSync(path, bytes);
    return warnings;
  } else throw new Error(`no writer: ${target}`);
  return [];
}

/** Rows have their columns with them. */
function headOf(table: Table): readonly string[] {
  return table.numRows === 0 ? table.schema.fields.map(({ name }) => name) : [];
}

/** Rows of a text have a column for each value of a structure, and none for a structure that is missing. */
function recordsOf(table: Table): readonly Entries[] {
  const budget = budgetOf();
  const isFlat = target !== 'json' && target !== 'jsonl';
  const columns = table.schema.fields.map(({ name, type }, at) => {
    const isOmitted = isFlat && (plainType(type).children ?? []).length > 0;
    return { name, type, isOmitted, values: rawsOf(table.getChildAt(at) as never, budget) };
  });
  return Array.from({ length: table.numRows }, () =>
    fieldsFrom(
      columns.flatMap(({ name, type, isOmitted, values }) => {
        const value = datumOf(type, values.next().value ?? null);
        return value === null && isOmitted ? [] : [[name, value] as const];
      }),
    ),
  );
}

function datesIn(table: Table): ReadonlyMap<string, 'day' | 'moment'> {
  return new Map(
    table.schema.fields.flatMap(({ name, type: of }) => {
      const type = plainType(of);
      if (DataType.isDate(type)) return [[name, type.unit === 0 ? 'day' : 'moment'] as const];
      return DataType.isTimestamp(type) ? [[name, 'moment'] as const] : [];
    }),
  );
}
