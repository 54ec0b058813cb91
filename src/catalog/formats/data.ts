/** Data as text: lists and objects of values, and rows of them (`csv` and `tsv` are sheets). */
import { type Format, format } from './format.ts';

export const data: readonly Format[] = [
  format('markup', 'json', 'JSON data', 'application/json', {
    search: { en: 'developer', de: 'Entwickler', es: 'desarrollador' },
    tie: 'text',
  }),
  format('markup', 'jsonl', 'JSON Lines', 'application/jsonl', { aliases: ['ndjson', 'jsonlines'], tie: 'text' }),
  format('markup', 'yaml', 'YAML data', 'application/yaml', { aliases: ['yml'], tie: 'text' }),
  format('markup', 'toml', 'TOML settings', 'application/toml', { tie: 'text' }),
  format('sheet', 'parquet', 'Apache Parquet', 'application/vnd.apache.parquet', {
    search: { en: 'table, columns, data', de: 'Tabelle, Spalten, Daten', es: 'tabla, columnas, datos' },
    // A page or the description of an empty table follows, both of which begin with a number in the same form.
    signatures: ['PAR1\x15'],
  }),
  format('sheet', 'arrow', 'Apache Arrow', 'application/vnd.apache.arrow.file', {
    search: { en: 'feather, table, data', de: 'Feather, Tabelle, Daten', es: 'feather, tabla, datos' },
    aliases: ['feather'],
    signatures: ['ARROW1\0\0'],
  }),
  format('sheet', 'avro', 'Apache Avro', 'application/vnd.apache.avro', {
    search: { en: 'table, records, data', de: 'Tabelle, Datensätze, Daten', es: 'tabla, registros, datos' },
    signatures: ['Obj\x01'],
  }),
  format('sheet', 'sqlite', 'SQLite database', 'application/vnd.sqlite3', {
    search: { en: 'database, tables, data', de: 'Datenbank, Tabellen, Daten', es: 'base de datos, tablas' },
    aliases: ['sqlite3', 'db3', 'db'],
    holds: 'many',
    signatures: ['SQLite format 3\0'],
  }),
  format('markup', 'xml', 'XML data', 'application/xml', { tie: 'text' }),
];
