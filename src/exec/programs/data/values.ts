/**
 * Data from one syntax to another: CSV, TSV, JSON, JSON Lines, YAML, TOML and XML; tables of dBASE, which are no text, are only read. Rows of CSV and TSV
 * also become tables of Markdown, and any data a flat sheet with the types of its cells.
 *
 *   values.ts INPUT SOURCE OUTPUT TARGET (as_written|auto) [CHARSET]
 *
 * INPUT may be a folder of CSV files, or of rows with the types of their cells: one is read as itself, several become an object with a list for each, by its name without a number and ending.
 * The word before CHARSET says which values of a table are numbers: those of columns in which each looks the same as a number, or all that can be read as
 * one. Prints one line of JSON, as residents answer: warnings, or, with status 2, why there is no result.
 */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { answering, lossy, type Told } from '../process/answer.ts';
import { decodeText, toldOf } from '../text/charset.ts';
import { readDbase, type TableRead } from './values/dbase.ts';
import { writeFlatSheet } from './values/flat-sheet.ts';
import { json, jsonl } from './values/json.ts';
import { type Marks, tablesOf } from './values/markdown-tables.ts';
import { cells, csv, rowsIn, tsv } from './values/rows.ts';
import type { Syntax } from './values/syntax.ts';
import { toml } from './values/toml.ts';
import { beyond, type Datum, fieldsFrom } from './values/value.ts';
import { xml } from './values/xml.ts';
import { yaml } from './values/yaml.ts';

const SYNTAXES: Readonly<Record<string, Syntax>> = { csv, json, jsonl, toml, tsv, xml, yaml };
/** Sheets as `office.py` writes them: a list of cells with their types a line. */
const READ_ONLY: Readonly<Record<string, Pick<Syntax, 'read'>>> = { rows: cells };
const TABLES: Readonly<Record<string, (bytes: Buffer, charset?: string) => TableRead>> = { dbf: readDbase };
const VERSION = '1.0';
/** Bytes: as values they take up to ten times as much memory. */
const MOST_BYTES = 64 << 20;

const [input = '', source = '', output = '', target = '', types = 'as_written', charset] = process.argv.slice(2);

if (input === '--version') process.stdout.write(`values ${VERSION}\n`);
else
  await answering(() => {
    const files = filesOf(input);
    const size = files.reduce((sum, path) => sum + statSync(path).size, 0);
    if (size > MOST_BYTES) throw beyond('bytes of data', MOST_BYTES, size);
    if (target === 'md') return writeTables(files);
    const write = target === 'fods' ? (value: Datum) => writeFlatSheet(value, source === 'xml') : SYNTAXES[target]?.write;
    if (write === undefined) throw new Error(`no syntax: ${target}`);
    const found = files.map((path) => ({ name: sheetOf(path), ...readFile(path) }));
    const [only] = found;
    const value = found.length === 1 && only !== undefined ? only.value : fieldsFrom(found.map(({ name, value }) => [name, value]));
    const written = write(value);
    writeFileSync(output, written.text);
    return [...found.flatMap(({ told }) => told), ...lossy(written.warnings)];
  });

function writeTables(files: readonly string[]): Told[] {
  const sheets = files.map((path) => {
    const decoded = decodeText(readFileSync(path), [], charset);
    const marks = marksBeside(path);
    const name = sheetOf(path);
    return { name, decoded, ...(marks && { marks }), ...rowsIn(decoded.text, source === 'tsv' ? '\t' : '', marks !== undefined) };
  });
  writeFileSync(output, tablesOf(sheets));
  const isCut = sheets.some(({ marks }) => marks?.more === true);
  return [
    ...sheets.flatMap(({ decoded, warnings }) => [...toldOf(decoded), ...lossy(warnings)]),
    ...lossy(isCut ? ['A sheet may have more links and notes of cells: 5,000 of each are kept, links from the first 50,000 texts.'] : []),
  ];
}

/** As `office.py` writes them beside the file of a sheet. */
function marksBeside(path: string): Marks | undefined {
  const beside = path.replace(/\.csv$/, '.marks');
  return beside !== path && existsSync(beside) ? (JSON.parse(readFileSync(beside, 'utf8')) as Marks) : undefined;
}

function readFile(path: string): TableRead {
  const [table, from] = [TABLES[source], SYNTAXES[source] ?? READ_ONLY[source]];
  if (table !== undefined) return table(readFileSync(path), charset);
  if (from === undefined) throw new Error(`no syntax: ${source}`);
  const decoded = decodeText(readFileSync(path), source === 'xml' ? ['xml'] : [], charset);
  const { value, warnings } = from.read(decoded.text, types === 'auto' ? 'auto' : 'as_written');
  return { value, told: [...toldOf(decoded), ...lossy(warnings)] };
}

function filesOf(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path).filter((name) => name.endsWith(`.${source}`));
  return names.sort().map((name) => join(path, name));
}

/** As `office.py` names the files of several sheets. */
function sheetOf(path: string): string {
  return basename(path, `.${source}`).replace(/^\d{3,5} /, '');
}
