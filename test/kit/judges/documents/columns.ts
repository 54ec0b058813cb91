/** Reads tables with typed columns by libraries that no engine of ours reads or writes them with. */
import { readFile } from 'node:fs/promises';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { Table, writeParquet } from 'parquet-wasm';

type Row = Readonly<Record<string, unknown>>;

export const parquetRows = async (path: string): Promise<readonly Row[]> => rowsIn(await readFile(path));

const bufferOf = (bytes: Uint8Array): ArrayBuffer => Uint8Array.from(bytes).buffer;
const rowsIn = (bytes: Uint8Array): Promise<readonly Row[]> => parquetReadObjects({ file: bufferOf(bytes) });

/** A file is a stream behind eight bytes, and a list of its parts: Rust reads the stream, and writes it as Parquet. */
export async function arrowRows(path: string): Promise<readonly Row[]> {
  return rowsIn(writeParquet(Table.fromIPCStream((await readFile(path)).subarray(8))));
}

/** @returns what each column of a Parquet is: `INT64`, and what is meant by it where that is said, as in `INT32 DATE` */
export async function parquetTypes(path: string): Promise<Readonly<Record<string, string>>> {
  const { schema } = parquetMetadata(bufferOf(await readFile(path)));
  return Object.fromEntries(
    schema
      .slice(1)
      .map(({ name, type, converted_type: meant, logical_type: logical }) => [
        name,
        [type, meant ?? logical?.type].filter(Boolean).join(' '),
      ]),
  );
}

/** Names and values in their order, one a line. */
export function cellsOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(cellsOf).join('\n');
  if (typeof value !== 'object' || value === null || value instanceof Date || value instanceof Uint8Array) return String(value);
  return Object.entries(value)
    .map(([key, each]) => `${key}\n${cellsOf(each)}`)
    .join('\n');
}
