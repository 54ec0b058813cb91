/** Parquet, by the Rust library of the Arrow project, which `parquet-wasm` has compiled to WebAssembly: a damaged file reaches no memory but its own. */
import { type Table, tableToIPC } from 'apache-arrow';
import {
  Compression,
  ParquetFile,
  Table as ParquetTable,
  readParquet as read,
  WriterPropertiesBuilder,
  writeParquet as write,
} from 'parquet-wasm';
import { beyond, MOST_VALUES } from '../values/value.ts';
import { readArrow } from './ipc.ts';
import { damaged, MOST_DATA_BYTES } from './raw.ts';
import { refusing } from './refusing.ts';

/** @throws FileRefused */
export async function readParquet(bytes: Uint8Array): Promise<Table> {
  await requireBounds(bytes);
  return readArrow(refusing(() => read(bytes).intoIPCStream()));
}

async function requireBounds(bytes: Uint8Array): Promise<void> {
  const file = await ParquetFile.fromFile(new Blob([bytes as Uint8Array<ArrayBuffer>])).catch(() => {
    throw damaged();
  });
  refusing(() => {
    const groups = file.metadata().rowGroups();
    const columns = groups.flatMap((group) => group.columns());
    const values = columns.reduce((sum, column) => sum + Math.max(0, column.numValues()), 0);
    const rows = groups.reduce((sum, group) => sum + Math.max(0, group.numRows()), 0);
    const size = columns.reduce((sum, column) => sum + Math.max(0, column.uncompressedSize()), 0);
    if (Math.max(values, rows) > MOST_VALUES) throw beyond('values', MOST_VALUES, Math.max(values, rows));
    // As the file says: packed, they may be a thousandth.
    if (size > MOST_DATA_BYTES) throw beyond('bytes of data', MOST_DATA_BYTES, size);
  });
}

export function writeParquet(table: Table): Uint8Array {
  const properties = new WriterPropertiesBuilder().setCompression(Compression.SNAPPY).build();
  return write(ParquetTable.fromIPCStream(tableToIPC(table, 'stream')), properties);
}
