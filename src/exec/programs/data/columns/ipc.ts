/** Arrow's own files and streams (Apache Arrow, "Serialization and Interprocess Communication"), also as Feather 2 writes them. */
import { zstdDecompressSync } from 'node:zlib';
import {
  compressionRegistry,
  type Data,
  DataType,
  type Field,
  makeData,
  makeVector,
  RecordBatch,
  RecordBatchFileWriter,
  RecordBatchWriter,
  Schema,
  Struct,
  Table,
  tableFromIPC,
} from 'apache-arrow';
import { lz4Frames, MOST_UNPACKED } from './blocks.ts';
import { spelledOut, vectorOf } from './make.ts';
import { budgetOf, rawsOf, spendBytes } from './raw.ts';
import { refusing } from './refusing.ts';

/** Numbers of Arrow's Message.fbs, CompressionType. */
const [LZ4, ZSTD] = [0, 1];
const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
/** What the buffers of the file that is being read unpack to. */
let unpacked = budgetOf();
const counted = (bytes: Uint8Array): Uint8Array => {
  spendBytes(unpacked, bytes.length);
  return bytes;
};
compressionRegistry.set(LZ4, { decode: (bytes) => counted(lz4Frames(bufferOf(bytes))) });
compressionRegistry.set(ZSTD, { decode: (bytes) => counted(zstdDecompressSync(bytes, { maxOutputLength: MOST_UNPACKED })) });

/** @throws FileRefused */
export function readArrow(bytes: Uint8Array): Table {
  unpacked = budgetOf();
  return refusing(() => tableFromIPC(bytes));
}

/** A file is a whole stream between its marks: the library leaves out the stream's schema, without which those who read it as one are lost. */
class FileWriter extends RecordBatchFileWriter {
  override _writeSchema(schema: Schema): this {
    super._writeSchema(schema);
    SCHEMA.call(this, schema);
    return this;
  }
}
const SCHEMA = (RecordBatchWriter.prototype as unknown as { readonly _writeSchema: (schema: Schema) => unknown })._writeSchema;

export function writeArrow(table: Table): Uint8Array {
  // A file has one dictionary for each column, and a stream may replace it on the way.
  const isNamed = table.batches.length > 1 && table.schema.fields.some(({ type }) => hasDictionary(type));
  return new FileWriter().writeAll((isNamed ? withoutDictionaries(table) : table) as never).toUint8Array(true);
}

const hasDictionary = (type: DataType): boolean =>
  DataType.isDictionary(type) || ((type.children ?? []) as readonly Field[]).some(({ type: inner }) => hasDictionary(inner));

/** The other columns stay as they are. */
function withoutDictionaries(table: Table): Table {
  const budget = budgetOf();
  const fields = table.schema.fields.map((field) => (hasDictionary(field.type) ? field.clone({ type: spelledOut(field.type) }) : field));
  const schema = new Schema(fields, table.schema.metadata);
  const batches = table.batches.map(({ data, numRows }) => {
    const children = fields.map((field, at) => {
      const child = data.children[at] as Data;
      return field === table.schema.fields[at] ? child : vectorOf(field.type, [...rawsOf(makeVector(child as never), budget)]).data[0];
    });
    return new RecordBatch(schema, makeData({ type: new Struct(fields), length: numRows, nullCount: 0, children } as never) as never);
  });
  return new Table(schema, batches);
}
