/** Data as text: lists and objects of values, and rows of them (`csv` and `tsv` are sheets). */
import { type Format, format } from './format.ts';

export const data: readonly Format[] = [
  format('markup', 'json', 'application/json', { tie: 'text' }),
  format('markup', 'jsonl', 'application/jsonl', { aliases: ['ndjson', 'jsonlines'], tie: 'text' }),
  format('markup', 'yaml', 'application/yaml', { aliases: ['yml'], tie: 'text' }),
  format('markup', 'toml', 'application/toml', { tie: 'text' }),
  format('markup', 'xml', 'application/xml', { tie: 'text' }),
];
