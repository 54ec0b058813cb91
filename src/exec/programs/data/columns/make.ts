/** Columns of Arrow from cells: what `raw.ts` reads, the other way round. */
import {
  Binary,
  type Data,
  DataType,
  Field,
  FixedSizeList,
  Float32,
  LargeList,
  List,
  Map_,
  makeData,
  makeVector,
  Precision,
  Schema,
  Struct,
  Table,
  Utf8,
  type Vector,
} from 'apache-arrow';
import { isBytesColumn, isTextColumn, type Raw } from './raw.ts';

export interface Column {
  readonly name: string;
  readonly type: DataType;
  readonly values: readonly Raw[];
}

export function tableFrom(columns: readonly Column[]): Table {
  const fields = columns.map(({ name, type }) => new Field(name, type, true));
  const rows = columns[0]?.values.length ?? 0;
  const children = columns.map(({ type, values }) => dataOf(type, values));
  const type = new Struct(fields);
  const batch = makeData({ type, length: rows, nullCount: 0, children });
  return new Table(new Schema(fields), batch as never);
}

/** A type without dictionaries, with all that is within it: what `vectorOf` makes of their values. */
export function spelledOut(type: DataType): DataType {
  if (DataType.isDictionary(type)) return spelledOut(type.dictionary as DataType);
  if (DataType.isUtf8View(type)) return TEXT;
  if (DataType.isBinaryView(type)) return BYTES;
  if (DataType.isFloat(type) && type.precision === Precision.HALF) return new Float32();
  const fields = ((type.children ?? []) as readonly Field[]).map((field) => field.clone({ type: spelledOut(field.type) }));
  const [item] = fields;
  if (DataType.isStruct(type)) return new Struct(fields);
  if (item === undefined) return type;
  if (DataType.isMap(type)) return new Map_(item as never, type.keysSorted);
  if (DataType.isFixedSizeList(type)) return new FixedSizeList(type.listSize, item);
  if (DataType.isLargeList(type)) return new LargeList(item);
  return DataType.isList(type) ? new List(item) : type;
}

export const vectorOf = (type: DataType, values: readonly Raw[]): Vector => makeVector(dataOf(type, values) as never);

function dataOf(type: DataType, values: readonly Raw[]): Data {
  const { length } = values;
  const nullCount = values.reduce<number>((sum, value) => sum + (value === null ? 1 : 0), 0);
  const head = { type, length, nullCount, ...(nullCount > 0 && { nullBitmap: bitsOf(values.map((value) => value !== null)) }) };
  const make = (more: object): Data => makeData({ ...head, ...more } as never) as Data;
  if (DataType.isNull(type)) return makeData({ type, length }) as Data;
  if (DataType.isBool(type)) return make({ data: bitsOf(values.map((value) => value === true)) });
  if (DataType.isDecimal(type)) return make({ data: decimals(values, type.bitWidth) });
  if (isBytesColumn(type) && DataType.isFixedSizeBinary(type)) {
    const data = new Uint8Array(length * type.byteWidth);
    for (const [at, value] of values.entries())
      if (value instanceof Uint8Array) data.set(value.subarray(0, type.byteWidth), at * type.byteWidth);
    return make({ data });
  }
  const offsets = offsetsFor(type);
  if (isTextColumn(type))
    return make(
      bytesOf(
        values.map((value) => (value === null ? EMPTY : Buffer.from(String(value)))),
        offsets,
      ),
    );
  if (isBytesColumn(type))
    return make(
      bytesOf(
        values.map((value) => (value instanceof Uint8Array ? value : EMPTY)),
        offsets,
      ),
    );
  if (DataType.isStruct(type)) {
    const fields = type.children as readonly Field[];
    const children = fields.map(({ name, type: inner }) =>
      dataOf(
        inner,
        values.map((value) => (value instanceof Map ? (value.get(name) ?? null) : null)),
      ),
    );
    return make({ children });
  }
  if (DataType.isMap(type)) {
    const entry = type.children[0]?.type as Struct;
    const [key, value] = entry.children as unknown as readonly [Field, Field];
    const pairs = values.map((each) =>
      ((each ?? []) as readonly (readonly Raw[])[]).map(
        ([one = null, other = null]) =>
          new Map([
            [key.name, one],
            [value.name, other],
          ]),
      ),
    );
    return make({ valueOffsets: offsets(pairs), child: dataOf(entry, pairs.flat()) });
  }
  if (DataType.isList(type) || DataType.isLargeList(type) || DataType.isFixedSizeList(type)) {
    const none: readonly Raw[] = DataType.isFixedSizeList(type) ? new Array(type.listSize).fill(null) : [];
    const lists = values.map((value) => (value ?? none) as readonly Raw[]);
    const child = dataOf(type.children[0]?.type as DataType, lists.flat());
    return make(DataType.isFixedSizeList(type) ? { child } : { valueOffsets: offsets(lists), child });
  }
  const data = new (type.ArrayType as new (length: number) => Record<number, number | bigint>)(length);
  const isBig = data instanceof BigInt64Array || data instanceof BigUint64Array;
  for (const [at, value] of values.entries()) if (value !== null) data[at] = isBig ? BigInt(value as bigint) : Number(value);
  return make({ data });
}

const EMPTY = new Uint8Array();

function bitsOf(values: readonly boolean[]): Uint8Array {
  const bits = new Uint8Array(Math.ceil(values.length / 8));
  for (const [at, value] of values.entries()) if (value) bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
  return bits;
}

function decimals(values: readonly Raw[], bits: number): Uint32Array {
  const words = bits / 32;
  const data = new Uint32Array(values.length * words);
  for (const [at, value] of values.entries()) {
    const unsigned = BigInt.asUintN(bits, (value ?? 0n) as bigint);
    for (let word = 0; word < words; word++) data[at * words + word] = Number((unsigned >> BigInt(32 * word)) & 0xffffffffn);
  }
  return data;
}

type Offsets = (lists: readonly { readonly length: number }[]) => Int32Array | BigInt64Array;

/** Large types have offsets of 64 bits. */
const offsetsFor = (type: DataType): Offsets =>
  DataType.isLargeUtf8(type) || DataType.isLargeBinary(type) || DataType.isLargeList(type)
    ? (lists) => BigInt64Array.from(offsetsOf(lists), BigInt)
    : offsetsOf;

function offsetsOf(lists: readonly { readonly length: number }[]): Int32Array {
  const offsets = new Int32Array(lists.length + 1);
  for (const [at, { length }] of lists.entries()) offsets[at + 1] = (offsets[at] ?? 0) + length;
  return offsets;
}

const bytesOf = (values: readonly Uint8Array[], offsets: Offsets) => ({ valueOffsets: offsets(values), data: Buffer.concat(values) });

export const listType = (item: DataType): List => new List(new Field('element', item, true));
export const TEXT = new Utf8();
export const BYTES = new Binary();
